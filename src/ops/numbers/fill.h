// SPDX-License-Identifier: Apache-2.0
// x[i] = value, exactly.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct FillArgs {
  View x;
  double value = 0.0;
};

void validate(const FillArgs& args);
void fill(const Context& context, const FillArgs& args);

}  // namespace twill
