// SPDX-License-Identifier: Apache-2.0
// The soft projection of new weights with everything discrete as it was for the old ones.
#pragma once

#include "ops/selection/groups24.h"
#include "tensor/view.h"

namespace twill {

// Per group of four, with t the second smallest magnitude of the old weights:
//
//   y_i = |old_i| > t ? scale · sign(fresh_i) · max(|fresh_i| - t, 0) : 0
//
// Equal to soft_threshold24 (ops/selection/soft_threshold24.h) bit for bit where fresh is old. All (R, C) f32,
// y another memory.
void project_with_old_threshold(ConstView old, ConstView fresh, GroupAxis axis, double scale,
                                View y);

}  // namespace twill
