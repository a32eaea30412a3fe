// SPDX-License-Identifier: Apache-2.0
// What a step costs on hardware that leaves zeros out, by the formulas of sparsity/account/flop_account.h.
// Masked execution computes all of it: these are counts, not times.
#include "sparsity/engine/engine.h"
#include "sparsity/recipe/scope.h"

namespace twill {
namespace {

// A product is sparse where its weight is 2:4 along what it contracts: inputs forward, outputs in
// dgrad.
void count_weight(LinearCost& cost, const WeightsPart& part, const LinearSeam& seam) {
  const bool both = part.is_both_ways();
  const bool rows = axis_of(part.axis, seam) == GroupAxis::kWithinRow;
  const double share =
      part.pattern == WeightPattern::kVenom ? 2.0 / static_cast<double>(part.m) : 0.5;
  if (seam.forward && (both || rows)) cost.forward = share;
  if (seam.dgrad && (both || !rows)) cost.dgrad = share;
}

}  // namespace

std::vector<LinearCost> SparsityEngine::linear_costs() const {
  std::vector<LinearCost> costs;
  for (const LinearSeam& seam : *linear_seams_)
    costs.push_back(
        {.weights = seam.weight->shape.num_elements(), .head = seam.family == LayerFamily::kHead});
  const PhaseConfig& now = phase();
  for (const SparseLayer& layer : layers_) {
    if (!in_scope(layer)) continue;
    const LinearSeam& seam = *layer.seam;
    LinearCost& cost = costs[seam.stream];
    if (now.weights.is_topology()) cost.forward = cost.dgrad = cost.wgrad = layer.density;
    if (projects_weights()) count_weight(cost, now.weights, seam);
    if (seam.wgrad != WgradSample::kDense) cost.wgrad = 0.5;
  }
  for (const SteeredFfn& ffn : activations_.ffns()) {
    if (!ffn.seam->selects) continue;
    const double dense = ffn.dense_share;
    LinearCost& input = costs[ffn.input->stream];
    LinearCost& output = costs[ffn.output->stream];
    output.forward = input.dgrad =
        selected_share(ffn.seam->m, ffn.seam->dense_forward ? dense : 0.0);
    if (ffn.seam->transposed_m > 0)
      output.wgrad = input.wgrad = selected_share(ffn.seam->transposed_m, dense);
  }
  return costs;
}

Flops SparsityEngine::flops_per_token(std::int64_t step) const {
  std::vector<LinearCost> costs = linear_costs();
  if (phase().weights.is_topology() && updates_topology(step)) costs = with_dense_wgrad(costs);
  AttentionCost attention{.num_layers = static_cast<std::int64_t>(attention_seams_->size()),
                          .width = attention_width_,
                          .time = sequence_};
  if (!attention_seams_->empty() && attention.width > 0) {
    const AttentionSeam& seam = attention_seams_->front();
    if (seam.pattern != kept_pattern_ || seam.stride != kept_stride_) {
      kept_pattern_ = seam.pattern;
      kept_stride_ = seam.stride;
      kept_pairs_ = kept_pairs(seam.pattern, seam.stride, sequence_);
    }
    attention.kept = kept_pairs_;
  }
  return twill::flops_per_token(costs, attention);
}

void SparsityEngine::count_step(std::int64_t step, std::int64_t tokens) {
  flops_before_ = account_.total();
  account_.add(flops_per_token(step), tokens);
}

void SparsityEngine::restore_dense(std::int64_t tokens) {
  account_ = FlopAccount();
  account_.add(flops_per_token(0), tokens);
}

}  // namespace twill
