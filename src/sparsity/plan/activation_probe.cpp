// SPDX-License-Identifier: Apache-2.0
#include "sparsity/plan/activation_probe.h"

#include <algorithm>
#include <cmath>

#include "measure/calls.h"
#include "measure/random_fill.h"
#include "sparsity/activations/activation_steering.h"
#include "sparsity/activations/token_order.h"

namespace twill {
namespace {

constexpr CallLimits kSelectionCalls{};

Tensor random_order(const Context& context, std::int64_t count, std::uint32_t stream) {
  Tensor tensor(DType::kI32, {count}, context.memory());
  std::ranges::copy(random_token_order(count, 1, stream), tensor.view().as<std::int32_t>());
  return tensor;
}

}  // namespace

ActivationProbe::ActivationProbe(const Context& context, const LinearSeam& input,
                                 std::int64_t tokens, const ActivationsPart& part)
    : context_(context),
      tokens_(tokens),
      width_(input.weight->shape[1]),
      hidden_(input.weight->shape[0]),
      kept_(most_selected(part)),
      builder_(context,
               {.max_time = tokens, .selects_activations = true, .packed_activations = kept_}),
      seam_(builder_.ffn_seam({.name = "ffn", .width = width_, .hidden = hidden_})),
      input_(builder_, "ffn.input", {.in = width_, .out = hidden_, .family = LayerFamily::kFfn}),
      output_(builder_, "ffn.output",
              {.in = hidden_,
               .out = width_,
               .family = LayerFamily::kFfn,
               .width_axis = GroupAxis::kWithinColumn}),
      selection_(builder_, seam_) {
  builder_.commit();
  for (Parameter& parameter : builder_.parameters()) fill_uniform(context, parameter.value, 1);
  point_seam(part);
}

void ActivationProbe::point_seam(const ActivationsPart& part) {
  set_selection(seam_, part);
  seam_.selects = true;
  fixed_order_ = random_order(context_, tokens_, 1);
  neuron_order_ = random_order(context_, hidden_, 2);
  const std::int64_t count = std::max<std::int64_t>(1, part.m / 4);
  clusters_ = Tensor(DType::kI32, {hidden_}, context_.memory());
  dense_neurons_ = Tensor(DType::kU8, {hidden_}, context_.memory());
  centroids_ = uniform_matrix(context_, DType::kF32, {count, width_}, 2);
  const auto dense = std::llround(part.dense_share * static_cast<double>(hidden_));
  for (std::int64_t i = 0; i < hidden_; ++i) {
    clusters_.view().as<std::int32_t>()[i] = static_cast<std::int32_t>(i % count);
    dense_neurons_.view().as<std::uint8_t>()[i] = i < dense;
  }
  seam_.fixed_order = fixed_order_.view();
  if (part.clusters || (dense > 0 && seam_.dense_forward))
    seam_.neuron_order = neuron_order_.view();
  seam_.clusters = clusters_.view();
  seam_.centroids = centroids_.view();
  if (dense > 0) seam_.dense_neurons = dense_neurons_.view();
}

struct ActivationProbe::Operands {
  explicit Operands(const ActivationProbe& probe)
      : x(uniform_matrix(probe.context_, DType::kF32, {probe.tokens_, probe.width_}, 3)),
        y(uniform_matrix(probe.context_, DType::kF32, {probe.tokens_, probe.width_}, 4)),
        a(uniform_matrix(probe.context_, DType::kF32, {probe.tokens_, probe.hidden_}, 5)),
        dz(uniform_matrix(probe.context_, DType::kF32, {probe.tokens_, probe.hidden_}, 6)),
        pass{.context = probe.context_,
             .time = probe.tokens_,
             .training = true,
             .as_trained = true} {}

  Tensor x, y, a, dz;
  Pass pass;
};

template <class Each>
void ActivationProbe::each_product(Operands& with, const Each& each) {
  Tensor &x = with.x, &y = with.y, &a = with.a, &dz = with.dz;
  const Pass& pass = with.pass;
  for (LinearSeam& seam : builder_.linear_seams()) {
    Route& route = seam.route;
    route.forward.activations = route.dgrad.activations = route.wgrad.activations = kept_;
  }
  each([&] { output_.forward(pass, a.view(), y.view(), x.view()); });
  each([&] { input_.dgrad(pass, dz.view(), y.view()); });
  const ConstView a_of_wgrad = selection_.for_wgrad(pass, a.view(), /*is_gradient=*/false);
  each([&] { output_.weight_gradient(pass, a_of_wgrad, y.view()); });
  const ConstView dz_of_wgrad = selection_.for_wgrad(pass, dz.view(), /*is_gradient=*/true);
  each([&] { input_.weight_gradient(pass, x.view(), dz_of_wgrad); });
}

ActivationProbe::Seconds ActivationProbe::measure() {
  Operands operands(*this);
  Tensor &x = operands.x, &a = operands.a, &dz = operands.dz;
  const Pass& pass = operands.pass;
  const auto time = [&](const auto& body) { return best_seconds(context_, kSelectionCalls, body); };
  const auto select_again = [&](const Tensor& of, bool is_gradient) {
    return selection_.for_wgrad(pass, of.view(), is_gradient);
  };
  Seconds seconds;
  seconds.output_selection = time([&] { selection_.forward(pass, x.view(), a.view()); }) +
                             time([&] { select_again(a, /*is_gradient=*/false); });
  seconds.input_selection = time([&] { selection_.backward(pass, dz.view()); }) +
                            time([&] { select_again(dz, /*is_gradient=*/true); });
  double* const slots[] = {&seconds.output.forward, &seconds.input.dgrad, &seconds.output.wgrad,
                           &seconds.input.wgrad};
  double* const* slot = slots;
  each_product(operands, [&](const auto& product) { **slot++ = time(product); });
  return seconds;
}

void ActivationProbe::run() {
  Operands operands(*this);
  selection_.forward(operands.pass, operands.x.view(), operands.a.view());
  selection_.backward(operands.pass, operands.dz.view());
  each_product(operands, [](const auto& product) { product(); });
}

}  // namespace twill
