// SPDX-License-Identifier: Apache-2.0
#include "nn/linear.h"

#include "ops/column_sum.h"
#include "ops/gemm.h"

namespace twill {

Linear::Linear(Builder& builder, const std::string& name, Options options)
    : weight_(builder.parameter(name + ".weight", {options.out, options.in}, Init::kNormal,
                                options.init_std)) {
  weight_.clear_gradient = false;
  if (!options.bias) return;
  bias_ = &builder.parameter(name + ".bias", {options.out}, Init::kZeros);
  bias_->clear_gradient = false;
}

void Linear::forward(const Pass& pass, ConstView x, View y, ConstView addend) const {
  gemm(pass.context, {.a = x,
                      .b = weight_.value,
                      .c = y,
                      .trans_b = true,
                      .bias = bias_ != nullptr ? bias_->value : View(),
                      .addend = addend});
}

void Linear::dgrad(const Pass& pass, ConstView dy, View dx) const {
  gemm(pass.context, {.a = dy, .b = weight_.value, .c = dx});
}

void Linear::wgrad(const Pass& pass, ConstView x, ConstView dy) const {
  gemm(pass.context,
       {.a = dy, .b = x, .c = weight_.gradient, .trans_a = true, .accumulate = pass.accumulate});
  if (bias_ != nullptr)
    column_sum(pass.context, {.x = dy, .sum = bias_->gradient, .accumulate = pass.accumulate});
}

}  // namespace twill
