// SPDX-License-Identifier: Apache-2.0
// How much AdamW's second moments will move in this step: STEP's sign that they have settled.
//
//   sum[0] = Σ |v' - v|,  v' - v = (1 - beta2) ((grad_scale · grad)² - v)
//
//   grad, v  any equal shapes, f32 or f64;  sum (1) f64
//
// It decides something, so the order is fixed: f64 from the first operation on, runs of 256
// elements in index order, then the runs in index order.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct MomentChangeArgs {
  ConstView grad;
  ConstView v;
  View sum;
  double beta2 = 0.95;
  double grad_scale = 1.0;
};

void validate(const MomentChangeArgs& args);
void moment_change(const Context& context, const MomentChangeArgs& args);

}  // namespace twill
