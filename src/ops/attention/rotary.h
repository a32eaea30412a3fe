// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding, in place, on the queries and keys of a packed qkv buffer.
//
//   x  (B, T, heads, D)   D even; the first num_rotated heads of each token turn, the rest (values)
//                         stay untouched
//
// Pairs are (i, i + D/2), as in LLaMA checkpoints of Hugging Face:
//   (u, v) -> (u cos a - v sin a, u sin a + v cos a), a = t theta^(-2i/D), t from first_position on
// `inverse` turns by -a: the backward pass. Angles, sines and cosines are computed in f64 and
// rounded once to f32 (beside f64: f64) on every backend; products and sums are in that type, and
// bf16 is rounded at the end. Error per element at most 4 eps (|u| + |v|), and that rounding.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct RotaryArgs {
  View x;
  std::int64_t num_rotated = 0;
  double theta = 10000.0;
  std::int64_t first_position = 0;  // of the token at index 0; from 0 on
  bool inverse = false;
};

void validate(const RotaryArgs& args);
void rotary(const Context& context, const RotaryArgs& args);

}  // namespace twill
