// SPDX-License-Identifier: Apache-2.0
// The backward pass of an activation and the packed sample of what it gives, for the weight gradient of
// the linear layer in front of it: dx is written once and not read again.
//
//   activation   as ops/layers/activation.h: dx from x and dy, in the same memory where that says so
//   pack         as ops/packing/pack_sample.h, of dx: its x is absent or dx, which is rounded before it is
//                sampled; its sum, if asked for, is that of dx
//
// dx as activation_backward gives it, to the bit on the same backend; storage unpacks to what pack_sample
// makes of dx as it is stored.
#pragma once

#include "ops/context.h"
#include "ops/layers/activation.h"
#include "ops/packing/pack_sample.h"

namespace twill {

struct ActivationSampleArgs {
  ActivationBackwardArgs activation;
  PackSampleArgs pack;
};

void validate(const ActivationSampleArgs& args);
void activation_sample(const Context& context, const ActivationSampleArgs& args);

}  // namespace twill
