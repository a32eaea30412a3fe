// SPDX-License-Identifier: Apache-2.0
// One side of a product: numbers of a type, in a layout, with a scale.
//
// A layout is a constant that is told by its address. To add one is to define a LayoutKind with a decoder,
// by which the reference multiplies it, and kernels of other backends that take it; whoever has no kernel
// for it declines (ops/products/product.h).
#pragma once

#include <cstdint>

#include "ops/numbers/emit.h"
#include "ops/packing/packed_matrix.h"
#include "tensor/view.h"

namespace twill {

struct Operand;

// (rows, cols) of each, row-major.
struct Decoded {
  double* values;      // without the scale
  std::uint8_t* kept;  // 0: no entry of the operand; what faces it is not read into a sum
};

struct LayoutKind {
  const char* name;  // in sentences: "row-major"
  // On the host. nullptr: storage is a backend's own, and only its products read it.
  void (*decode)(const Operand& operand, const Decoded& to);
};
using Layout = const LayoutKind*;

// Rows one after the other: f32, bf16, f64, e4m3, e5m2.
Layout row_major();
// Columns one after the other: the transposed, as Emit::transposed leaves it.
Layout column_major();
// A packed matrix (ops/packing/packed_matrix.h); Operand::packed says which.
Layout packed();

struct Operand {
  ConstView data = {};  // the numbers, or the storage
  DType type = DType::kF32;
  Layout layout = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Scale scale = {};
  ConstView positions = {};  // where the numbers stand, of layouts that keep that apart
  PackedShape packed = {};   // of the layout packed()
  std::int64_t kept = 0;     // entries in it, for whoever counts FLOPs

  explicit operator bool() const { return layout != nullptr; }
  PackedMatrix packed_matrix() const { return {.shape = packed, .storage = data, .kept = kept}; }
};

// A plain matrix as it lies.
Operand dense(ConstView matrix);
Operand dense(ConstView matrix, const Scale& scale);
Operand without_zeros(const PackedMatrix& matrix);

}  // namespace twill
