// SPDX-License-Identifier: Apache-2.0
#include "nn/norm.h"

#include "ops/layers/layer_norm.h"
#include "ops/layers/rms_norm.h"

namespace twill {

Norm::Norm(Builder& builder, const std::string& name, Options options)
    : options_(options),
      weight_(builder.parameter(name + ".weight", {options.width}, Init::kOnes)) {
  weight_.clear_gradient = false;
  if (options.kind == NormKind::kLayer && options.bias) {
    bias_ = &builder.parameter(name + ".bias", {options.width}, Init::kZeros);
    bias_->clear_gradient = false;
  }
  // Two numbers per token: not worth computing twice.
  if (options.kind == NormKind::kLayer)
    builder.statistic("norm.mean", mean_, {builder.max_tokens()});
  builder.statistic("norm.rstd", rstd_, {builder.max_tokens()});
}

void Norm::forward(const Pass& pass, ConstView x, View y) const {
  if (options_.kind == NormKind::kRms) {
    rms_norm_forward(pass.context, {.x = x,
                                    .weight = weight_.operand,
                                    .y = y,
                                    .rstd = rstd_.slice(0, pass.tokens()),
                                    .eps = options_.eps});
    return;
  }
  layer_norm_forward(pass.context, {.x = x,
                                    .weight = weight_.operand,
                                    .bias = bias_ != nullptr ? bias_->operand : View(),
                                    .y = y,
                                    .mean = mean_.slice(0, pass.tokens()),
                                    .rstd = rstd_.slice(0, pass.tokens()),
                                    .eps = options_.eps});
}

void Norm::backward(const Pass& pass, ConstView x, ConstView dy, const Gradient& gradient) const {
  if (options_.kind == NormKind::kRms) {
    rms_norm_backward(pass.context, {.x = x,
                                     .weight = weight_.operand,
                                     .rstd = rstd_.slice(0, pass.tokens()),
                                     .dy = dy,
                                     .dx = gradient.dx,
                                     .dweight = weight_.gradient,
                                     .dx_sum = gradient.dx_sum,
                                     .accumulate_dx = gradient.adds_to_dx,
                                     .accumulate = pass.accumulate});
    return;
  }
  layer_norm_backward(pass.context, {.x = x,
                                     .weight = weight_.operand,
                                     .mean = mean_.slice(0, pass.tokens()),
                                     .rstd = rstd_.slice(0, pass.tokens()),
                                     .dy = dy,
                                     .dx = gradient.dx,
                                     .dweight = weight_.gradient,
                                     .dbias = bias_ != nullptr ? bias_->gradient : View(),
                                     .dx_sum = gradient.dx_sum,
                                     .accumulate_dx = gradient.adds_to_dx,
                                     .accumulate = pass.accumulate});
}

}  // namespace twill
