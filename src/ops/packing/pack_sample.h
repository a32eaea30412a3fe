// SPDX-License-Identifier: Apache-2.0
// The sample of ops/selection/mvue24.h, packed for a product over tokens:
//
//   x        (T, C)  a gradient, token-major
//   storage  u8      P = sampleᵀ, (C, T), ops/packing/packed_matrix.h: pattern k24, side kLeft
//   sample   (T, C)  scratch of x's type, for backends that draw first and pack then; its contents
//                    behind the call are nobody's business
//   sum      (C)     optional: the column sums of x itself (ops/numbers/column_sum.h: a bias's gradient), which
//                    cost little while x is read; added to when accumulate
//
// The same draws as mvue24, and what pack_matrix makes of its y; whether a kept zero is stored as an
// entry, and where, is free. Where step_at is given, the step is the number that stands there when the
// work runs: recorded work then draws anew each time.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "ops/packing/packed_matrix.h"
#include "ops/selection/mvue24.h"
#include "tensor/view.h"

namespace twill {

struct PackSampleArgs {
  ConstView x;
  View sample;
  PackedShape shape;
  View storage;
  MvueLaw law = MvueLaw::kExact;
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  ConstView step_at = {};  // (1) i32, optional; its bits are those of the step
  std::uint32_t stream = 0;
  std::int64_t first_token = 0;  // as in mvue24
  View sum = {};
  bool accumulate = false;  // of the sum
};

// The packed sample of a (tokens, channels) gradient: two of four entries along tokens; the last group
// of tokens may be smaller.
PackedShape packed_sample_shape(std::int64_t channels, std::int64_t tokens, DType type);

void validate(const PackSampleArgs& args);
void pack_sample(const Context& context, const PackSampleArgs& args);

}  // namespace twill
