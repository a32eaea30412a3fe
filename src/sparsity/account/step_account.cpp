// SPDX-License-Identifier: Apache-2.0
#include "sparsity/account/step_account.h"

namespace twill {
namespace {

// A product is sparse where its weight is 2:4 along what it contracts: inputs forward, outputs in
// dgrad.
void count_weight(LinearCost& cost, const WeightsPart& part, const LinearSeam& seam) {
  const bool both = part.is_both_ways();
  const bool rows = axis_of(part.axis, seam) == GroupAxis::kWithinRow;
  const double share =
      part.pattern == WeightPattern::kVenom ? 2.0 / static_cast<double>(part.m) : 0.5;
  if (seam.route.forward.operand && (both || rows)) cost.forward = share;
  if (seam.route.dgrad.operand && (both || !rows)) cost.dgrad = share;
}

}  // namespace

StepAccount::StepAccount(Builder& builder, const RunPosition& at, const WeightSteering& weights,
                         const ActivationSteering& activations, std::int64_t sequence)
    : at_(at),
      weights_(weights),
      activations_(activations),
      linear_seams_(&builder.linear_seams()),
      attention_seams_(&builder.attention_seams()),
      sequence_(sequence) {
  // Of all query heads together: the inputs of an attention layer's output matrix.
  for (const LinearSeam& seam : *linear_seams_)
    if (seam.family == LayerFamily::kAttention && seam.name.ends_with(".output"))
      attention_width_ = seam.weight->shape[1];
}

std::vector<LinearCost> StepAccount::linear_costs() const {
  std::vector<LinearCost> costs;
  for (const LinearSeam& seam : *linear_seams_)
    costs.push_back(
        {.weights = seam.weight->shape.num_elements(), .head = seam.family == LayerFamily::kHead});
  const PhaseConfig& now = at_.phase();
  const bool projects = weights_.projects();
  for (const SparseLayer& layer : weights_.layers()) {
    if (!weights_.in_scope(layer)) continue;
    const LinearSeam& seam = *layer.seam;
    LinearCost& cost = costs[seam.stream];
    if (now.weights.is_topology()) cost.forward = cost.dgrad = cost.wgrad = layer.density;
    if (projects) count_weight(cost, now.weights, seam);
    if (seam.route.wgrad.sample != WgradSample::kDense) cost.wgrad = 0.5;
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

double StepAccount::share_of_pairs(const AttentionSeam& seam) const {
  if (seam.pattern != known_pattern_ || seam.stride != known_stride_) {
    known_pattern_ = seam.pattern;
    known_stride_ = seam.stride;
    known_pairs_ = kept_pairs(seam.pattern, seam.stride, sequence_);
  }
  return known_pairs_;
}

Flops StepAccount::flops_per_token(bool moves) const {
  std::vector<LinearCost> costs = linear_costs();
  if (at_.phase().weights.is_topology() && moves) costs = with_dense_wgrad(costs);
  AttentionCost attention{.num_layers = static_cast<std::int64_t>(attention_seams_->size()),
                          .width = attention_width_,
                          .time = sequence_};
  if (!attention_seams_->empty() && attention.width > 0)
    attention.kept = share_of_pairs(attention_seams_->front());
  return twill::flops_per_token(costs, attention);
}

void StepAccount::count(bool moves, std::int64_t tokens) {
  before_ = account_.total();
  account_.add(flops_per_token(moves), tokens);
}

void StepAccount::restore_dense(std::int64_t tokens) {
  account_ = FlopAccount();
  account_.add(flops_per_token(/*moves=*/false), tokens);
}

void StepAccount::save(StateTexts& texts) const {
  const Flops& spent = account_.total();
  texts["flops"] =
      text_of({spent.spent, spent.dense, spent.spent_without_head, spent.dense_without_head});
}

void StepAccount::restore(const StateTexts& texts) {
  const std::vector<double> flops = numbers_at(texts, "flops", 4);
  account_ = FlopAccount({flops[0], flops[1], flops[2], flops[3]});
}

}  // namespace twill
