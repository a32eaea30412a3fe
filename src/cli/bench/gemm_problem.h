// SPDX-License-Identifier: Apache-2.0
// What `twill bench gemm` multiplies: shapes, patterns and random operands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/context.h"
#include "ops/packing/packed_matrix.h"
#include "tensor/tensor.h"

namespace twill::cli {

struct WeightShape {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
};
// "2048x512": outputs x inputs.
WeightShape parse_shape(const std::string& word);

struct GemmPattern {
  enum class Kind : std::uint8_t { kTransposable, kRows, kVenom, kUnstructured };
  std::string name;
  Kind kind = Kind::kUnstructured;
  double density = 0.5;
  std::int64_t m = 8;  // of kVenom, whose v is 64

  // Of values of this type: bf16 is packed for hardware that knows 2:4 and nothing else.
  PackedPattern packed(DType type = DType::kF32) const;
  // Throws when the pattern does not divide the shape.
  void require_fits(const WeightShape& shape) const;
};
// 2:4-transposable, 2:4 (in rows), V:2:M with a number for M, or the share of zeros as "90%".
GemmPattern parse_pattern(const std::string& word);

// Uniform in [-1, 1), in the backend's memory.
Tensor random_matrix(const Context& context, std::int64_t rows, std::int64_t cols,
                     std::uint64_t stream);

// Standard normal numbers, f32 or bf16; from 2^20 on they repeat, because the host draws slowly.
Tensor normal_matrix(const Context& context, DType type, const Shape& shape, std::uint64_t stream);

// Fills mask (outputs, inputs) u8 for the weight; unstructured ones are drawn.
void search_mask(const Context& context, const GemmPattern& pattern, ConstView weight, View mask);
std::int64_t count_kept(const Context& context, ConstView mask);

// A weight packed for one product.
class PackedOperand {
 public:
  PackedOperand(const Context& context, const GemmPattern& pattern, ConstView weight,
                ConstView mask, bool transpose, std::int64_t kept, DType type = DType::kF32);

  void pack(bool same_mask);
  PackedMatrix matrix() const {
    return {.shape = shape_, .storage = storage_.view(), .kept = kept_};
  }

 private:
  const Context& context_;
  ConstView weight_, mask_;
  bool transpose_;
  std::int64_t kept_;
  PackedShape shape_;
  Tensor storage_;
};

}  // namespace twill::cli
