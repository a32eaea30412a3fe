// SPDX-License-Identifier: Apache-2.0
// Σ x[i]², for the global gradient norm.
//
//   x    any shape
//   sum  (1) f64, overwritten
//
// Accumulated in f64 (squares of f32 are exact there), in an order fixed per backend and shape. NaN
// and Inf in x reach the sum. Error at most n 2^-53 sum.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct SumSquaresArgs {
  ConstView x;
  View sum;
};

void validate(const SumSquaresArgs& args);
void sum_squares(const Context& context, const SumSquaresArgs& args);

}  // namespace twill
