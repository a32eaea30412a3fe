// SPDX-License-Identifier: Apache-2.0
// AdamW with decoupled weight decay (Loshchilov & Hutter), one tensor:
//
//   g  = grad_scale · grad
//   m  = beta1 m + (1 - beta1) g
//   v  = beta2 v + (1 - beta2) g²
//   w -= lr (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + eps) + weight_decay w)
//
//   weight, grad, m, v   any equal shapes; grad is not changed
//   step                 1 for the first update
//   operand              optional, bf16, same shape: the new weight rounded to nearest, for products
//   freeze_v             v is neither changed nor corrected: w -= lr (m̂ / (sqrt(v) + eps) + …)
//
// f32 per element: (1 - beta), bias corrections and lr are computed in f64 and rounded once.
// Elements are independent. Error: two-oracle rule.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct AdamwArgs {
  View weight;
  ConstView grad;
  View m;
  View v;
  View operand = {};
  double lr = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double grad_scale = 1.0;
  std::int64_t step = 1;
  bool freeze_v = false;
};

void validate(const AdamwArgs& args);
void adamw(const Context& context, const AdamwArgs& args);

}  // namespace twill
