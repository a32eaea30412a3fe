// SPDX-License-Identifier: Apache-2.0
#include "nn/linear.h"

#include <algorithm>
#include <cmath>

#include "base/require.h"
#include "ops/numbers/column_sum.h"
#include "ops/packing/activation_sample.h"
#include "ops/products/gemm.h"
#include "ops/products/packed_times.h"
#include "ops/products/times_packed.h"
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

}  // namespace

Linear::Linear(Builder& builder, const std::string& name, Options options)
    : weight_(builder.parameter(name + ".weight", {options.out, options.in}, Init::kNormal,
                                options.init_std)),
      seam_(builder.linear_seam(
          {.name = name,
           .family = options.family,
           .weight = &weight_,
           .width_axis = options.width_axis,
           .adds_bias = options.bias,
           .sums_bias = options.bias && options.width_axis == GroupAxis::kWithinRow,
           .adds_residual = options.adds_residual,
           .activates = options.activates,
           .activated = options.activated})),
      type_(builder.options().dtype) {
  weight_.clear_gradient = false;
  if (options.bias) {
    bias_ = &builder.parameter(name + ".bias", {options.out}, Init::kZeros);
    bias_->clear_gradient = false;
  }
  const Builder::Options& asked = builder.options();
  if (!asked.training) return;
  const Shape inputs{builder.max_tokens(), options.in}, outputs{builder.max_tokens(), options.out};
  if (asked.samples_gradients) builder.scratch("linear.sampled", sampled_, outputs);
  if (asked.packs_samples && packs_matrices(builder.context(), type_)) {
    const std::int64_t bytes = packed_bytes(builder.context(), sample_shape(builder.max_tokens()));
    if (bytes > 0) builder.scratch_bytes("linear.packed_sample", packed_sample_, bytes);
  }
  if (asked.packed_activations > 0.0 && options.family == LayerFamily::kFfn &&
      packs_any_mask(builder.context())) {
    most_kept_ = asked.packed_activations;
    const std::int64_t hidden =
        options.width_axis == GroupAxis::kWithinRow ? options.out : options.in;
    std::int64_t bytes = 0;
    for (const bool transpose : {false, true})
      bytes = std::max(
          bytes, packed_bytes(builder.context(), activation_shape(builder.max_tokens(), hidden,
                                                                  most_kept_, transpose)));
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

void Linear::run(const Pass& pass, const GemmArgs& product, const PackedMatrix& packed,
                 bool keeps_slope) const {
  if (!runs_packed(packed, product.m())) {
    if (packed && seam_.unpacked)
      unpack_matrix(pass.context, {.packed = seam_.packed_forward, .dense = seam_.unpacked});
    require(!keeps_slope,
            "[linear] {} keeps a slope, but its product is dense; ask packs_forward() or "
            "packs_dgrad() first",
            seam_.name);
    return gemm(pass.context, product);
  }
  TimesPackedArgs args = packed_product(product, packed);
  args.keeps_slope = keeps_slope;
  times_packed(pass.context, args);
}

PackedMatrix Linear::packed_activations(const Pass& pass, ConstView a, double share,
                                        bool transpose) const {
  const PackedShape shape = activation_shape(a.rows(), a.cols(), most_kept_, transpose);
  pack_matrix(pass.context,
              {.dense = a, .shape = shape, .storage = packed_activations_, .transpose = transpose});
  return {.shape = shape,
          .storage = packed_activations_,
          .kept = std::llround(share * static_cast<double>(a.num_elements()))};
}

void Linear::forward(const Pass& pass, ConstView x, View y, ConstView addend) const {
  if (const double share = seam_.packed_activations.forward; leaves_out(pass, share)) {
    packed_times(pass.context, {.packed = packed_activations(pass, x, share, /*transpose=*/false),
                                .b = seam_.forward_operand(),
                                .c = y,
                                .trans_b = true,
                                .bias = bias_ != nullptr ? bias_->operand : View(),
                                .addend = addend});
    return;
  }
  GemmArgs product = forward_product(pass, x, y);
  product.addend = addend;
  run(pass, product, seam_.packed_forward);
}

void Linear::forward_activated(const Pass& pass, ConstView x, Activation f, View before, View y,
                               bool keeps_slope) const {
  // Of dense products only plain activations are an epilogue.
  if (is_gated(f) && !runs_packed(seam_.packed_forward, y.rows())) {
    forward(pass, x, before);
    return activation_forward(pass.context, {.kind = f, .x = before, .y = y});
  }
  GemmArgs product = forward_product(pass, x, y);
  product.epilogue = GemmEpilogue::kActivation;
  product.activation = f;
  product.before = before;
  run(pass, product, seam_.packed_forward, keeps_slope);
}

GemmArgs Linear::dgrad_product(const Pass& pass, ConstView dy, View dx) const {
  return {.a = rounded(pass, dy, rounded_output_, Fp8Format::kE5m2),
          .b = rounded(pass, seam_.dgrad_operand(), rounded_weight_, backward_format()),
          .c = dx};
}

void Linear::dgrad(const Pass& pass, ConstView dy, View dx) const {
  if (const double share = seam_.packed_activations.dgrad; leaves_out(pass, share)) {
    packed_times(pass.context, {.packed = packed_activations(pass, dy, share, /*transpose=*/false),
                                .b = seam_.dgrad_operand(),
                                .c = dx});
    return;
  }
  run(pass, dgrad_product(pass, dy, dx), seam_.packed_dgrad);
}

void Linear::dgrad_activated(const Pass& pass, ConstView dy, Activation f, View before,
                             View dbefore, bool keeps_slope) const {
  GemmArgs product = dgrad_product(pass, dy, dbefore);
  product.epilogue = GemmEpilogue::kActivationGradient;
  product.activation = f;
  product.before = before;
  run(pass, product, seam_.packed_dgrad, keeps_slope);
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
  return seam_.wgrad == WgradSample::kMvue ? MvueLaw::kExact : MvueLaw::kTwoDraw;
}

bool Linear::packs_sample(const Pass& pass) const {
  return !seam_.kept && !leaves_out(pass, seam_.packed_activations.wgrad) &&
         seam_.wgrad != WgradSample::kDense && seam_.packs_sample && packed_sample_ &&
         !rounds(pass);
}

void Linear::weight_gradient(const Pass& pass, ConstView x, ConstView dy) const {
  if (seam_.kept) {
    kept_gradient(pass.context, {.dy = dy,
                                 .x = x,
                                 .kept = seam_.kept,
                                 .values = seam_.kept_gradient,
                                 .accumulate = pass.accumulate});
    return;
  }
  if (leaves_out(pass, seam_.packed_activations.wgrad)) return wgrad_of_activations(pass, x, dy);
  if (packs_sample(pass)) {
    pack_sample(pass.context, sampling(pass, dy, /*with_bias=*/false));
    return times_packed_sample(pass, x);
  }
  if (seam_.wgrad != WgradSample::kDense) {
    const View sample = pass.rows(sampled_);
    mvue24(pass.context, {.x = dy,
                          .y = sample,
                          .law = law(),
                          .seed = pass.seed,
                          .step = pass.micro_step,
                          .step_at = pass.micro_step_at,
                          .stream = seam_.stream});
    dy = sample;
  }
  gemm(pass.context, {.a = rounded(pass, dy, rounded_output_, Fp8Format::kE5m2),
                      .b = rounded(pass, x, rounded_input_, backward_format()),
                      .c = weight_.gradient,
                      .trans_a = true,
                      .accumulate = pass.accumulate});
}

// P is dYᵀ of the input matrix, xᵀ of the output matrix: there the product is dWᵀ.
void Linear::wgrad_of_activations(const Pass& pass, ConstView x, ConstView dy) const {
  const bool is_output = seam_.width_axis == GroupAxis::kWithinColumn;
  const double share = seam_.packed_activations.wgrad;
  packed_times(pass.context,
               {.packed = packed_activations(pass, is_output ? x : dy, share, /*transpose=*/true),
                .b = is_output ? dy : x,
                .c = weight_.gradient,
                .trans_c = is_output,
                .accumulate = pass.accumulate});
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
          .sum = with_bias ? bias_->gradient : View(),
          .accumulate = pass.accumulate};
}

void Linear::times_packed_sample(const Pass& pass, ConstView x) const {
  const PackedShape shape = sample_shape(pass.tokens());
  packed_times(pass.context,
               {.packed = {.shape = shape, .storage = packed_sample_, .kept = shape.max_kept},
                .b = x,
                .c = weight_.gradient,
                .accumulate = pass.accumulate});
}

void Linear::bias_gradient(const Pass& pass, ConstView dy) const {
  if (bias_ != nullptr)
    column_sum(pass.context, {.x = dy, .sum = bias_->gradient, .accumulate = pass.accumulate});
}

}  // namespace twill
