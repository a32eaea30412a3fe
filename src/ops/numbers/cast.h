// SPDX-License-Identifier: Apache-2.0
// y[i] = x[i] in another type, rounded to nearest even: the operands of products from master weights.
//
//   x  f32;  y  bf16, same shape, not the same memory
//
// NaN stays NaN. Exact: every backend agrees to the bit.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct CastArgs {
  ConstView x;
  View y;
};

void validate(const CastArgs& args);
void cast(const Context& context, const CastArgs& args);

}  // namespace twill
