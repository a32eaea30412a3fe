// SPDX-License-Identifier: Apache-2.0
// sum[0] (+)= scale Σ x[i]: a step's loss from the losses of its tokens, without leaving the device.
//
//   x    any shape, f32 or f64
//   sum  (1) f64, overwritten, or added to when accumulate
//
// Accumulated in f64, in an order fixed per backend and shape. NaN and Inf reach the sum. Error at
// most (n + 2) 2^-53 scale Σ|x|.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct SumArgs {
  ConstView x;
  View sum;
  double scale = 1.0;
  bool accumulate = false;
};

void validate(const SumArgs& args);
void sum(const Context& context, const SumArgs& args);

}  // namespace twill
