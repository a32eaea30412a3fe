// SPDX-License-Identifier: Apache-2.0
// Gradient of a bias: sum[j] (+)= Σ_i x[i, j].
//
//   x    (rows, cols)
//   sum  (cols)        overwritten, or added to when accumulate; f32 beside f32 and bf16
//
// Order: fixed per backend and shape. Error at most (rows + 1) eps Σ|terms|.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct ColumnSumArgs {
  ConstView x;
  View sum;
  bool accumulate = false;
};

void validate(const ColumnSumArgs& args);
void column_sum(const Context& context, const ColumnSumArgs& args);

}  // namespace twill
