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
// Types: x, y, dy, dx, weight and bias f32 or bf16; mean, rstd, dweight, dbias and dx_sum f32
// (beside f64: f64).
//
// emits of forward: further copies of y (ops/numbers/emit.h).
//
// Backward, with g = dy weight and n = (x - mean) rstd:
//   dx      = rstd (g - mean(g) - n mean(g n))   overwritten, or added to dx when accumulate_dx
//   dweight = Σ_rows dy n     (C)
//   dbias   = Σ_rows dy       (C)  optional
//   dx_sum  = Σ_rows of dx    (C)  optional
// The three sums are overwritten, or added to what they held when accumulate. dx_sum is what
// column_sum makes of the final dx, as stored and with what accumulate_dx added to: the gradient of
// the bias of the layer that wrote x, without a pass of its own. Its error is at most
// (rows + 1) eps Σ|terms|.
// dx must not overlap x, and may be the same memory as dy only when accumulate_dx is false. Sums
// over rows are taken in an order fixed per backend and shape. C = 0 is refused.
#pragma once

#include <span>

#include "ops/context.h"
#include "ops/numbers/emit.h"
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
  std::span<const Emit> emits = {};  // of y
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
  View dx_sum = {};
  bool accumulate_dx = false;
  bool accumulate = false;  // dweight, dbias and dx_sum
};

void validate(const LayerNormForwardArgs& args);
void validate(const LayerNormBackwardArgs& args);
void layer_norm_forward(const Context& context, const LayerNormForwardArgs& args);
void layer_norm_backward(const Context& context, const LayerNormBackwardArgs& args);

}  // namespace twill
