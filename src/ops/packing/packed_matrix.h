// SPDX-License-Identifier: Apache-2.0
// A matrix whose zeros are not stored, in whatever order a backend's products like to read it.
//
//   dense    (R, C)       the values, f32 or of the packed type (reference: also f64); with `transpose`
//                         the matrix packed is denseᵀ
//   mask     (R, C) u8    in dense's own orientation, any byte but 0 is kept; absent: what is not 0
//   storage  u8           packed_bytes(shape) of them, aligned to 64; opaque
//
// shape is that of the packed matrix P, behind the transposition. Its pattern:
//   kTransposable24  R and C are multiples of 4, and every 4 x 4 block keeps two entries in each row
//                    and each column (ops/selection/transposable24.h); undefined for other masks
//   k24              every four consecutive entries of a row keep at most two; undefined for other masks
//   kAny             every mask; at most `max_kept` entries are kept
// A kept entry stays one when its value is 0: products read what faces it, NaN included. Under a 2:4
// pattern a backend may store the lowest other entries as zeros where fewer than two are kept: what
// faces those is read too.
//
// A backend packs what its products can take; packed_bytes is 0 for anything else. reference and cpu:
// all of f32. cuda: bf16 values by a 2:4 pattern on Ampere and later, rows in multiples of 8, of side kRight
// also columns in multiples of 16; `side` says which product reads the matrix, and so how it lies.
//
// `same_mask`: the storage was packed before, with the same shape, orientation and kept entries; only
// values have changed, and the mask may stay unread. Packing copies, and rounds to nearest even from f32
// to bf16: unpack_matrix gives back the values bit for bit, and +0 elsewhere. max_kept is not read for
// kTransposable24, whose storage is never larger than that of kAny with half of the entries.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

enum class PackedPattern : std::uint8_t { kTransposable24, k24, kAny };
// x Pᵀ (ops/products/times_packed.h) or P b (ops/products/packed_times.h).
enum class PackedSide : std::uint8_t { kRight, kLeft };

struct PackedShape {
  PackedPattern pattern = PackedPattern::kAny;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t max_kept = 0;
  DType type = DType::kF32;  // of the values
  PackedSide side = PackedSide::kRight;

  friend bool operator==(const PackedShape&, const PackedShape&) = default;
};

// A packed matrix as an operand.
struct PackedMatrix {
  PackedShape shape;
  ConstView storage;
  std::int64_t kept = 0;  // entries in it, for whoever counts FLOPs

  explicit operator bool() const { return static_cast<bool>(storage); }
};

struct PackMatrixArgs {
  ConstView dense;
  ConstView mask = {};
  PackedShape shape;
  View storage;
  bool transpose = false;
  bool same_mask = false;
};

struct UnpackMatrixArgs {
  PackedMatrix packed;
  View dense;  // (rows, cols) of the packed matrix, of its values' type (cuda: or f32)
};

// Whether backend and device have packed products of this type at all.
bool packs_matrices(const Context& context, DType type = DType::kF32);
// Whether it has them for every mask (kAny), which products with activations need.
bool packs_any_mask(const Context& context);
// KernelTable::slowed_by_packed, 0 where there is none.
double slowed_by_packed(const Context& context);
// Bytes that a packed matrix of this shape takes; 0: the backend does not pack it.
std::int64_t packed_bytes(const Context& context, const PackedShape& shape);

// `op`: whose message it is where another op packs.
void validate(const PackMatrixArgs& args, const char* op = "pack_matrix");
void validate(const UnpackMatrixArgs& args);
void pack_matrix(const Context& context, const PackMatrixArgs& args);
void unpack_matrix(const Context& context, const UnpackMatrixArgs& args);

// For ops that pack: the backend packs the shape, and the storage has room for it.
void require_packed_storage(const char* op, const Context& context, ConstView storage,
                            const PackedShape& shape);
// For products: an operand that is there and has the shape and the type that the product asks for
// (f64, on the reference, goes with every type).
void require_packed(const char* op, const PackedMatrix& packed, std::int64_t rows,
                    std::int64_t cols, DType type);

}  // namespace twill
