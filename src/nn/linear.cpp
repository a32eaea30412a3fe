// SPDX-License-Identifier: Apache-2.0
#include "nn/linear.h"

#include "ops/column_sum.h"
#include "ops/gemm.h"
#include "ops/mvue24.h"

namespace twill {

Linear::Linear(Builder& builder, const std::string& name, Options options)
    : weight_(builder.parameter(name + ".weight", {options.out, options.in}, Init::kNormal,
                                options.init_std)),
      seam_(builder.linear_seam({.name = name,
                                 .family = options.family,
                                 .weight = &weight_,
                                 .width_axis = options.width_axis})) {
  weight_.clear_gradient = false;
  if (options.bias) {
    bias_ = &builder.parameter(name + ".bias", {options.out}, Init::kZeros);
    bias_->clear_gradient = false;
  }
  const Builder::Options& asked = builder.options();
  if (!asked.training) return;
  const Shape inputs{builder.max_tokens(), options.in}, outputs{builder.max_tokens(), options.out};
  if (asked.samples_gradients) builder.scratch("linear.sampled", sampled_, outputs);
  if (!asked.rounds_operands) return;
  builder.scratch("linear.rounded_weight", rounded_weight_, {options.out, options.in});
  builder.scratch("linear.rounded_input", rounded_input_, inputs);
  builder.scratch("linear.rounded_output", rounded_output_, outputs);
}

ConstView Linear::rounded(const Pass& pass, ConstView x, View scratch, Fp8Format format) const {
  if (!rounds(pass)) return x;
  const View y = scratch.slice(0, x.num_elements()).reshaped(x.shape());
  fp8_round(pass.context, {.x = x, .y = y, .format = format});
  return y;
}

Fp8Format Linear::backward_format() const {
  return seam_.fp8 == Fp8Mode::kReference ? Fp8Format::kE5m2 : Fp8Format::kE4m3;
}

GemmArgs Linear::forward_product(const Pass& pass, ConstView x, View y) const {
  return {.a = rounded(pass, x, rounded_input_, Fp8Format::kE4m3),
          .b = rounded(pass, seam_.forward_operand(), rounded_weight_, Fp8Format::kE4m3),
          .c = y,
          .trans_b = true,
          .bias = bias_ != nullptr ? bias_->operand : View()};
}

void Linear::forward(const Pass& pass, ConstView x, View y, ConstView addend) const {
  GemmArgs product = forward_product(pass, x, y);
  product.addend = addend;
  gemm(pass.context, product);
}

void Linear::forward_activated(const Pass& pass, ConstView x, Activation f, View before,
                               View y) const {
  GemmArgs product = forward_product(pass, x, y);
  product.epilogue = GemmEpilogue::kActivation;
  product.activation = f;
  product.before = before;
  gemm(pass.context, product);
}

GemmArgs Linear::dgrad_product(const Pass& pass, ConstView dy, View dx) const {
  return {.a = rounded(pass, dy, rounded_output_, Fp8Format::kE5m2),
          .b = rounded(pass, seam_.dgrad_operand(), rounded_weight_, backward_format()),
          .c = dx};
}

void Linear::dgrad(const Pass& pass, ConstView dy, View dx) const {
  gemm(pass.context, dgrad_product(pass, dy, dx));
}

void Linear::dgrad_activated(const Pass& pass, ConstView dy, Activation f, View before,
                             View dbefore) const {
  GemmArgs product = dgrad_product(pass, dy, dbefore);
  product.epilogue = GemmEpilogue::kActivationGradient;
  product.activation = f;
  product.before = before;
  gemm(pass.context, product);
}

void Linear::wgrad(const Pass& pass, ConstView x, ConstView dy) const {
  weight_gradient(pass, x, dy);
  bias_gradient(pass, dy);
}

void Linear::weight_gradient(const Pass& pass, ConstView x, ConstView dy) const {
  if (seam_.wgrad != WgradSample::kDense) {
    const View sample = pass.rows(sampled_);
    mvue24(pass.context,
           {.x = dy,
            .y = sample,
            .law = seam_.wgrad == WgradSample::kMvue ? MvueLaw::kExact : MvueLaw::kTwoDraw,
            .seed = pass.seed,
            .step = pass.micro_step,
            .stream = seam_.stream});
    dy = sample;
  }
  gemm(pass.context, {.a = rounded(pass, dy, rounded_output_, Fp8Format::kE5m2),
                      .b = rounded(pass, x, rounded_input_, backward_format()),
                      .c = weight_.gradient,
                      .trans_a = true,
                      .accumulate = pass.accumulate});
}

void Linear::bias_gradient(const Pass& pass, ConstView dy) const {
  if (bias_ != nullptr)
    column_sum(pass.context, {.x = dy, .sum = bias_->gradient, .accumulate = pass.accumulate});
}

}  // namespace twill
