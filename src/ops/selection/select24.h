// SPDX-License-Identifier: Apache-2.0
// Row-wise or column-wise 2:4 selection:
//
//   mask[i] = 1 for the two largest magnitudes of each group of four, else 0
//
//   x     (R, C) f32, bf16 or f64; the grouped dimension is a multiple of 4
//   mask  (R, C) u8
//
// Exactly two are kept in every group, zeros included: of equal magnitudes the lowest index wins,
// and NaN counts as +Inf (ops/selection/groups24.h). No arithmetic, so bit-exact everywhere.
#pragma once

#include "ops/context.h"
#include "ops/selection/groups24.h"
#include "tensor/view.h"

namespace twill {

struct Select24Args {
  ConstView x;
  View mask;
  GroupAxis axis = GroupAxis::kWithinRow;
};

void validate(const Select24Args& args);
void select24(const Context& context, const Select24Args& args);

}  // namespace twill
