// SPDX-License-Identifier: Apache-2.0
#include "nn/linear.h"

#include <algorithm>
#include <cmath>

#include "ops/numbers/column_sum.h"
#include "ops/numbers/fill.h"
#include "ops/packing/activation_sample.h"
#include "ops/selection/mvue24.h"

namespace twill {
namespace {

// Activations of an FFN as a packed matrix.
PackedShape activation_shape(std::int64_t tokens, std::int64_t hidden, double share,
                             bool transpose) {
  const auto most = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(hidden)));
  return {.rows = transpose ? hidden : tokens,
          .cols = transpose ? tokens : hidden,
          .max_kept = tokens * std::min(hidden, most + kMostRoundedUp)};
}

Parameter& own_weight(Builder& builder, const std::string& name, const Linear::Options& options) {
  return builder.parameter(name + ".weight", {options.out, options.in}, Init::kNormal,
                           options.init_std);
}

}  // namespace

Linear::Linear(Builder& builder, const std::string& name, Options options)
    : weight_(options.shared != nullptr ? *options.shared : own_weight(builder, name, options)),
      seam_(builder.linear_seam(
          {.name = name,
           .family = options.family,
           .weight = &weight_,
           .width_axis = options.width_axis,
           .adds_bias = options.bias,
           .sums_bias = options.bias && options.width_axis == GroupAxis::kWithinRow,
           .adds_residual = options.adds_residual,
           .activates = options.activates,
           .activated = options.activated,
           .shares_weight = options.shared != nullptr,
           .piece = options.piece})),
      type_(builder.options().dtype),
      max_tokens_(options.piece > 0 ? options.piece : builder.max_tokens()) {
  weight_.clear_gradient = false;
  if (options.bias) {
    bias_ = &builder.parameter(name + ".bias", {options.out}, Init::kZeros);
    bias_->clear_gradient = false;
  }
  const Builder::Options& asked = builder.options();
  if (!asked.training || !options.steered) return;
  const Shape inputs{max_tokens_, options.in}, outputs{max_tokens_, options.out};
  if (asked.samples_gradients) builder.scratch("linear.sampled", sampled_, outputs);
  if (asked.packs_samples && packs_matrices(builder.context(), type_)) {
    const std::int64_t bytes = packed_bytes(builder.context(), sample_shape(max_tokens_));
    if (bytes > 0) builder.scratch_bytes("linear.packed_sample", packed_sample_, bytes);
  }
  if (asked.packed_activations > 0.0 && options.family == LayerFamily::kFfn &&
      packs_any_mask(builder.context())) {
    most_kept_ = asked.packed_activations;
    const std::int64_t hidden =
        options.width_axis == GroupAxis::kWithinRow ? options.out : options.in;
    std::int64_t bytes = 0;
    for (const bool transpose : {false, true})
      bytes = std::max(bytes,
                       packed_bytes(builder.context(),
                                    activation_shape(max_tokens_, hidden, most_kept_, transpose)));
    builder.scratch_bytes("linear.packed_activations", packed_activations_, bytes);
  }
  if (!asked.rounds_operands) return;
  builder.scratch("linear.rounded_weight", rounded_weight_, {options.out, options.in});
  builder.scratch("linear.rounded_input", rounded_input_, inputs);
  builder.scratch("linear.rounded_output", rounded_output_, outputs);
}

PackedShape Linear::sample_shape(std::int64_t tokens) const {
  return packed_sample_shape(weight_.shape[0], tokens, type_);
}

ConstView Linear::rounded(const Pass& pass, const Form& form, ConstView x, View scratch,
                          Fp8Format Rounding::*side) const {
  if (!pass.as_trained || !form.rounding) return x;
  const View y = scratch.slice(0, x.num_elements()).reshaped(x.shape());
  fp8_round(pass.context, {.x = x, .y = y, .format = (*form.rounding).*side});
  return y;
}

Operand Linear::weight_side(const Pass& pass, const Form& form, const Operand& whole,
                            std::int64_t tokens) const {
  if (form.runs_packed(tokens)) return form.packed;
  if (form.packed && seam_.route.unpacked)
    unpack_matrix(pass.context, {.packed = seam_.route.forward.packed.packed_matrix(),
                                 .dense = seam_.route.unpacked});
  if (!pass.as_trained || !form.rounding) return whole;
  return dense(rounded(pass, form, whole.data, rounded_weight_, &Rounding::right));
}

Operand Linear::packed_activations(const Pass& pass, ConstView a, double share,
                                   bool transpose) const {
  const PackedShape shape = activation_shape(a.rows(), a.cols(), most_kept_, transpose);
  pack_matrix(pass.context,
              {.dense = a, .shape = shape, .storage = packed_activations_, .transpose = transpose});
  return without_zeros({.shape = shape,
                        .storage = packed_activations_,
                        .kept = std::llround(share * static_cast<double>(a.num_elements()))});
}

Product Linear::forward_product(const Pass& pass, ConstView x, View y) const {
  const Form& form = seam_.route.forward;
  const ConstView left = rounded(pass, form, x, rounded_input_, &Rounding::left);
  return {.a = dense(left),
          .b = weight_side(pass, form, seam_.forward_operand(), x.rows()),
          .c = y,
          .trans_b = true,
          .epilogue = {.bias = bias_ != nullptr ? bias_->operand : View()},
          .label = label("forward")};
}

void Linear::forward(const Pass& pass, ConstView x, View y, ConstView addend) const {
  Product product;
  if (const Form& form = seam_.route.forward; leaves_out(pass, form)) {
    product = {.a = packed_activations(pass, x, form.activations, /*transpose=*/false),
               .b = seam_.forward_operand(),
               .c = y,
               .trans_b = true,
               .epilogue = {.bias = bias_ != nullptr ? bias_->operand : View()},
               .label = label("forward")};
  } else {
    product = forward_product(pass, x, y);
  }
  product.epilogue.addend = addend;
  multiply(pass.context, product);
}

void Linear::forward_activated(const Pass& pass, ConstView x, Activation f, View before, View y,
                               bool keeps_slope) const {
  Product product = forward_product(pass, x, y);
  product.epilogue.f = GemmEpilogue::kActivation;
  product.epilogue.activation = f;
  product.epilogue.before = before;
  product.epilogue.keeps_slope = keeps_slope;
  multiply(pass.context, product);
}

Product Linear::dgrad_product(const Pass& pass, ConstView dy, View dx) const {
  const Form& form = seam_.route.dgrad;
  const ConstView left = rounded(pass, form, dy, rounded_output_, &Rounding::left);
  // What is packed for dgrad is the transposed weight.
  return {.a = dense(left),
          .b = weight_side(pass, form, seam_.dgrad_operand(), dy.rows()),
          .c = dx,
          .trans_b = form.runs_packed(dy.rows()),
          .label = label("dgrad")};
}

void Linear::dgrad(const Pass& pass, ConstView dy, View dx) const {
  const Form& form = seam_.route.dgrad;
  if (!leaves_out(pass, form)) return multiply(pass.context, dgrad_product(pass, dy, dx));
  multiply(pass.context, {.a = packed_activations(pass, dy, form.activations, /*transpose=*/false),
                          .b = seam_.dgrad_operand(),
                          .c = dx,
                          .label = label("dgrad")});
}

void Linear::dgrad_activated(const Pass& pass, ConstView dy, Activation f, View before,
                             View dbefore, bool keeps_slope) const {
  Product product = dgrad_product(pass, dy, dbefore);
  product.epilogue.f = GemmEpilogue::kActivationGradient;
  product.epilogue.activation = f;
  product.epilogue.before = before;
  product.epilogue.keeps_slope = keeps_slope;
  multiply(pass.context, product);
}

void Linear::wgrad(const Pass& pass, ConstView x, ConstView dy) const {
  if (packs_sample(pass)) {
    pack_sample(pass.context, sampling(pass, dy, /*with_bias=*/bias_ != nullptr));
    return times_packed_sample(pass, x);
  }
  weight_gradient(pass, x, dy);
  bias_gradient(pass, dy);
}

void Linear::wgrad_through_activation(const Pass& pass, ConstView x,
                                      const ActivationBackwardArgs& activation) const {
  const PackSampleArgs pack = sampling(pass, activation.dx, /*with_bias=*/bias_ != nullptr);
  activation_sample(pass.context, {.activation = activation, .pack = pack});
  times_packed_sample(pass, x);
}

MvueLaw Linear::law() const {
  return seam_.route.wgrad.sample == WgradSample::kMvue ? MvueLaw::kExact : MvueLaw::kTwoDraw;
}

bool Linear::packs_sample(const Pass& pass) const {
  const Form& form = seam_.route.wgrad;
  return !form.kept && !leaves_out(pass, form) && form.sample != WgradSample::kDense &&
         form.packs_sample && packed_sample_ && !(pass.as_trained && form.rounding);
}

void Linear::weight_gradient(const Pass& pass, ConstView x, ConstView dy) const {
  const Form& form = seam_.route.wgrad;
  Product product{.c = weight_.gradient,
                  .trans_a = true,
                  .accumulates = pass.accumulate,
                  .label = label("wgrad")};
  if (form.kept) {
    // The other layer adds to the weight's own gradient, which nobody has overwritten then.
    if (seam_.shares_weight && !pass.accumulate) fill(pass.context, {.x = weight_.gradient});
    product.a = dense(dy);
    product.b = dense(x);
    product.c = form.kept_gradient;
    product.parts = {.kind = Parts::Kind::kKeptEntries, .kept = form.kept};
    return multiply(pass.context, product);
  }
  if (leaves_out(pass, form)) return multiply(pass.context, wgrad_of_activations(pass, x, dy));
  if (packs_sample(pass)) {
    pack_sample(pass.context, sampling(pass, dy, /*with_bias=*/false));
    return times_packed_sample(pass, x);
  }
  if (form.sample != WgradSample::kDense) dy = sample_of(pass, dy);
  product.a = dense(rounded(pass, form, dy, rounded_output_, &Rounding::left));
  product.b = dense(rounded(pass, form, x, rounded_input_, &Rounding::right));
  multiply(pass.context, product);
}

// P is dYᵀ of the input matrix, xᵀ of the output matrix: there the product is dWᵀ.
Product Linear::wgrad_of_activations(const Pass& pass, ConstView x, ConstView dy) const {
  const bool is_output = seam_.width_axis == GroupAxis::kWithinColumn;
  const double share = seam_.route.wgrad.activations;
  return {.a = packed_activations(pass, is_output ? x : dy, share, /*transpose=*/true),
          .b = dense(is_output ? dy : x),
          .c = weight_.gradient,
          .trans_c = is_output,
          .accumulates = pass.accumulate,
          .label = label("wgrad")};
}

ConstView Linear::sample_of(const Pass& pass, ConstView dy) const {
  const View sample = pass.rows(sampled_);
  mvue24(pass.context, {.x = dy,
                        .y = sample,
                        .law = law(),
                        .seed = pass.seed,
                        .step = pass.micro_step,
                        .step_at = pass.micro_step_at,
                        .stream = seam_.stream,
                        .first_token = pass.first_token});
  return sample;
}

PackSampleArgs Linear::sampling(const Pass& pass, ConstView dy, bool with_bias) const {
  return {.x = dy,
          .sample = pass.rows(sampled_),
          .shape = sample_shape(pass.tokens()),
          .storage = packed_sample_,
          .law = law(),
          .seed = pass.seed,
          .step = pass.micro_step,
          .step_at = pass.micro_step_at,
          .stream = seam_.stream,
          .first_token = pass.first_token,
          .sum = with_bias ? bias_->gradient : View(),
          .accumulate = pass.accumulate};
}

void Linear::times_packed_sample(const Pass& pass, ConstView x) const {
  const PackedShape shape = sample_shape(pass.tokens());
  multiply(pass.context,
           {.a = without_zeros({.shape = shape, .storage = packed_sample_, .kept = shape.max_kept}),
            .b = dense(x),
            .c = weight_.gradient,
            .accumulates = pass.accumulate,
            .label = label("wgrad")});
}

void Linear::bias_gradient(const Pass& pass, ConstView dy) const {
  if (bias_ != nullptr)
    column_sum(pass.context, {.x = dy, .sum = bias_->gradient, .accumulate = pass.accumulate});
}

}  // namespace twill
