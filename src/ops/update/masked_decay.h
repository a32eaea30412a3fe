// SPDX-License-Identifier: Apache-2.0
// Masked decay: a pull to zero on pruned weights only.
//
//   target[i] = mask[i] ? scale · target[i] : scale · target[i] + rate · weight[i]
//
//   target, weight  any equal shapes, f32 or f64; target may be weight
//   mask            u8, same shape; 1 kept
//
// On gradients (FST): target = gradient, scale = the clipping factor, rate = lambda. On weights
// (SR-STE carried to Adam): target = weight, scale = 1, rate = -lr · lambda. scale and rate are
// rounded to the type of target once; each product and the sum round separately (no fused
// multiply-add): bit-exact everywhere. With scale = 1 kept entries do not change by a bit.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct MaskedDecayArgs {
  View target;
  ConstView weight;
  ConstView mask;
  double scale = 1.0;
  double rate = 0.0;
};

void validate(const MaskedDecayArgs& args);
void masked_decay(const Context& context, const MaskedDecayArgs& args);

}  // namespace twill
