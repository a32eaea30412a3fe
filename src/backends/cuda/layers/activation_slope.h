// SPDX-License-Identifier: Apache-2.0
// Slopes of activations that are kept, as steps of their own.
#pragma once

#include "ops/kernel_table.h"
#include "ops/layers/activation.h"
#include "tensor/view.h"

namespace twill::cuda {

// activation_forward with its slope.
void activation_with_slope(const ActivationForwardArgs& args, const Device& device, Queue& queue);
// y = y · slope, bf16
void times_slope(View y, ConstView slope, const Device& device, Queue& queue);

}  // namespace twill::cuda
