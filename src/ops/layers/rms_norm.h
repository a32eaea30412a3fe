// SPDX-License-Identifier: Apache-2.0
// Root-mean-square normalisation over the last axis:
//
//   y = x rstd weight,  rstd = 1 / sqrt(mean(x²) + eps)
//
//   x, y    (rows, C)   y must not overlap x
//   weight  (C)
//   rstd    (rows)      kept for the backward pass
//
// Error: two-oracle rule (docs/numerics.md).
// Types: x, y, dy, dx and weight f32 or bf16; rstd, dweight and dx_sum f32 (beside f64: f64).
//
// emits of forward: further copies of y (ops/numbers/emit.h).
//
// Backward, with g = dy weight and n = x rstd:
//   dx      = rstd (g - n mean(g n))   overwritten, or added to dx when accumulate_dx
//   dweight = Σ_rows dy n    (C)
//   dx_sum  = Σ_rows of dx   (C)  optional
// The two sums are overwritten, or added to what they held when accumulate; their order is fixed
// per backend and shape. dx_sum is what column_sum makes of the final dx, as stored and with what
// accumulate_dx added to: the gradient of the bias of the layer that wrote x, without a pass of its
// own. Its error is at most (rows + 1) eps Σ|terms|.
// dx must not overlap x, and may be the same memory as dy only when accumulate_dx is false. C = 0
// is refused.
#pragma once

#include <span>

#include "ops/context.h"
#include "ops/numbers/emit.h"
#include "tensor/view.h"

namespace twill {

struct RmsNormForwardArgs {
  ConstView x;
  ConstView weight;
  View y;
  View rstd;
  double eps = 1e-5;
  std::span<const Emit> emits = {};  // of y
};

struct RmsNormBackwardArgs {
  ConstView x;
  ConstView weight;
  ConstView rstd;
  ConstView dy;
  View dx;
  View dweight;
  View dx_sum = {};
  bool accumulate_dx = false;
  bool accumulate = false;  // dweight and dx_sum
};

void validate(const RmsNormForwardArgs& args);
void validate(const RmsNormBackwardArgs& args);
void rms_norm_forward(const Context& context, const RmsNormForwardArgs& args);
void rms_norm_backward(const Context& context, const RmsNormBackwardArgs& args);

}  // namespace twill
