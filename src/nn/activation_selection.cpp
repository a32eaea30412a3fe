// SPDX-License-Identifier: Apache-2.0
#include "nn/activation_selection.h"

#include "ops/products/product.h"
#include "ops/selection/mask.h"
#include "ops/selection/route_tokens.h"
#include "ops/selection/venom.h"

namespace twill {
namespace {

// A window of M neurons has M / 4 clusters: enough for M up to 128.
constexpr std::int64_t kMaxClusters = 32;

}  // namespace

ActivationSelection::ActivationSelection(Builder& builder, FfnSeam& seam) : seam_(seam) {
  const Builder::Options& asked = builder.options();
  if (!asked.training) return;
  if (asked.selects_activations || asked.measures_activations)
    builder.sparsity_state(seam.nonzero, DType::kI32, {seam.hidden});
  if (!asked.selects_activations) return;
  const std::int64_t tokens = builder.max_tokens();
  const Shape shape{tokens, seam.hidden};
  builder.sparsity_state(seam.mass, DType::kF64, {3});
  builder.sparsity_state(seam.transposed_mass, DType::kF64, {6});
  builder.sparsity_state(mask_, DType::kU8, shape);
  builder.sparsity_state(order_, DType::kI32, {tokens});
  builder.sparsity_state(dealt_, DType::kI32, {tokens});
  builder.scratch("ffn.scores", scores_, {tokens, kMaxClusters});
  builder.scratch_of("ffn.transposed_mask", transposed_mask_, DType::kU8, shape);
  builder.scratch("ffn.selected", selected_, shape);
}

void ActivationSelection::measure(const Pass& pass, ConstView a) const {
  if (!measures(pass) || !seam_.nonzero) return;
  count_nonzero(pass.context, {.x = a, .counts = seam_.nonzero});
  seam_.measured_tokens = pass.tokens();
}

ConstView ActivationSelection::token_order(const Pass& pass, ConstView x, ConstView a) const {
  if (seam_.order == TokenOrder::kAsIs) return {};
  if (seam_.order == TokenOrder::kFixed) {
    // A smaller pass has no permutation of its own.
    const bool fits = seam_.fixed_order && seam_.fixed_order.num_elements() == pass.tokens();
    return fits ? seam_.fixed_order : ConstView();
  }
  const std::int64_t clusters = seam_.centroids.rows();
  const View scores =
      scores_.slice(0, pass.tokens() * clusters).reshaped({pass.tokens(), clusters});
  if (seam_.order == TokenOrder::kCentroid) {
    multiply(pass.context, {.a = dense(x),
                            .b = dense(seam_.centroids),
                            .c = scores,
                            .trans_b = true,
                            .label = {.site = seam_.name, .product = "token order"}});
  } else {
    cluster_energy(pass.context, {.a = a, .cluster = seam_.clusters, .score = scores});
  }
  const View order = order_.slice(0, pass.tokens());
  const bool deals = seam_.transposed_m > 0;
  route_tokens(pass.context, {.score = scores,
                              .order = order,
                              .dealt = deals ? dealt_.slice(0, pass.tokens()) : View(),
                              .deal_window = deals ? seam_.transposed_m : 4});
  return order;
}

void ActivationSelection::forward(const Pass& pass, ConstView x, View a) const {
  const View mask = pass.rows(mask_);
  venom_select(pass.context, {.x = a,
                              .mask = mask,
                              .row_order = token_order(pass, x, a),
                              .column_order = seam_.neuron_order,
                              .v = seam_.v,
                              .m = seam_.m,
                              .mass = measures(pass) ? seam_.mass : View()});
  apply_mask(pass.context,
             {.x = a,
              .mask = mask,
              .y = a,
              .keep_columns = seam_.dense_forward ? seam_.dense_neurons : ConstView()});
}

void ActivationSelection::apply_again(const Pass& pass, View a) const {
  apply_mask(pass.context,
             {.x = a,
              .mask = pass.rows(mask_),
              .y = a,
              .keep_columns = seam_.dense_forward ? seam_.dense_neurons : ConstView()});
}

ConstView ActivationSelection::for_wgrad(const Pass& pass, ConstView a, bool is_gradient) const {
  if (!active(pass) || seam_.transposed_m == 0) return a;
  const View mask = pass.rows(transposed_mask_), selected = pass.rows(selected_);
  const bool routed = seam_.order == TokenOrder::kCentroid || seam_.order == TokenOrder::kEnergy;
  const bool fixed = seam_.order == TokenOrder::kFixed && seam_.fixed_order &&
                     seam_.fixed_order.num_elements() == pass.tokens();
  const ConstView order = routed  ? ConstView(dealt_.slice(0, pass.tokens()))
                          : fixed ? seam_.fixed_order
                                  : ConstView();
  venom_select(
      pass.context,
      {.x = a,
       .mask = mask,
       .row_order = order,
       .column_order = seam_.neuron_order,
       .along = GroupAxis::kWithinColumn,
       .v = seam_.transposed_v,
       .m = seam_.transposed_m,
       .mass = measures(pass) ? seam_.transposed_mass.slice(is_gradient ? 3 : 0, 3) : View()});
  apply_mask(pass.context,
             {.x = a, .mask = mask, .y = selected, .keep_columns = seam_.dense_neurons});
  return selected;
}

}  // namespace twill
