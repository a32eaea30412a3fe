// SPDX-License-Identifier: Apache-2.0
// Layer normalisation over the last axis:
//
//   y = (x - mean) rstd weight [+ bias]
//   rstd = 1 / sqrt(variance + eps),  variance = mean of (x - mean)²
//
//   x, y        (rows, C)   y must not overlap x
//   weight      (C)
//   bias        (C)    optional
//   mean, rstd  (rows)      kept for the backward pass
//
// The variance is taken from the centred values (two passes), so a large common offset costs no
// accuracy beyond the rounding of x - mean. Error: two-oracle rule (docs/numerics.md).
// Types: x, y, dy, dx, weight and bias f32 or bf16; mean, rstd, dweight and dbias f32 (beside f64:
// f64).
//
// Backward, with g = dy weight and n = (x - mean) rstd:
//   dx       = rstd (g - mean(g) - n mean(g n))   overwritten, or added to dx when accumulate_dx
//   dweight += Σ_rows dy n,  dbias += Σ_rows dy   (added to what they held)
// dx must not overlap x, and may be the same memory as dy only when accumulate_dx is false. Row
// sums of dweight and dbias are taken in an order fixed per backend and shape. C = 0 is refused.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct LayerNormForwardArgs {
  ConstView x;
  ConstView weight;
  ConstView bias = {};
  View y;
  View mean;
  View rstd;
  double eps = 1e-5;
};

struct LayerNormBackwardArgs {
  ConstView x;
  ConstView weight;
  ConstView mean;
  ConstView rstd;
  ConstView dy;
  View dx;
  View dweight;
  View dbias = {};
  bool accumulate_dx = false;
};

void validate(const LayerNormForwardArgs& args);
void validate(const LayerNormBackwardArgs& args);
void layer_norm_forward(const Context& context, const LayerNormForwardArgs& args);
void layer_norm_backward(const Context& context, const LayerNormBackwardArgs& args);

}  // namespace twill
