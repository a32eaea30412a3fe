// SPDX-License-Identifier: Apache-2.0
#include "nn/seam.h"

#include "nn/builder.h"
#include "ops/kernel_table.h"

namespace twill {

Operand LinearSeam::forward_operand() const {
  return route.forward.operand ? route.forward.operand : dense(weight->operand);
}
Operand LinearSeam::dgrad_operand() const {
  return route.dgrad.operand ? route.dgrad.operand : dense(weight->operand);
}

bool gradient_comes_with_sample(const Context& context, Activation activation) {
  if (is_gated(activation)) return true;
  return activation != Activation::kGeluTanh &&
         context.kernels().fuses_activation_sample != nullptr;
}

bool keeps_slope(const Context& context, Activation activation) {
  return activation == Activation::kGeluTanh && context.kernels().keeps_slopes;
}

}  // namespace twill
