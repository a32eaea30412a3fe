// SPDX-License-Identifier: Apache-2.0
// What `twill bench gemm` multiplies: shapes, patterns and masks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/packed_weight.h"
#include "ops/context.h"

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

// Fills mask (outputs, inputs) u8 for the weight; unstructured ones are drawn.
void search_mask(const Context& context, const GemmPattern& pattern, ConstView weight, View mask);
std::int64_t count_kept(const Context& context, ConstView mask);

// A weight packed for one product.
PackedWeight packed_weight(const Context& context, const GemmPattern& pattern, ConstView weight,
                           ConstView mask, bool transpose, std::int64_t kept,
                           DType type = DType::kF32);

}  // namespace twill::cli
