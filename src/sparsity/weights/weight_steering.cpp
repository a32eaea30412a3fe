// SPDX-License-Identifier: Apache-2.0
#include "sparsity/weights/weight_steering.h"

#include <algorithm>

#include "base/require.h"
#include "ops/selection/mask.h"
#include "ops/transfer.h"
#include "sparsity/recipe/scope.h"

namespace twill {
namespace {

WgradSample sample_of(WgradEstimator estimator) {
  if (estimator == WgradEstimator::kMvue) return WgradSample::kMvue;
  return estimator == WgradEstimator::kMvueTwoDraw ? WgradSample::kMvueTwoDraw
                                                   : WgradSample::kDense;
}

Fp8Mode fp8_of(NumberFormat format) {
  if (format == NumberFormat::kFp8) return Fp8Mode::kMixed;
  return format == NumberFormat::kFp8Reference ? Fp8Mode::kReference : Fp8Mode::kNone;
}

Pull pull_of(DecayOn on) {
  if (on == DecayOn::kNone) return Pull::kNone;
  return on == DecayOn::kGradients ? Pull::kOnGradient : Pull::kOnWeight;
}

}  // namespace

bool WeightSteering::any_in_scope() const {
  return std::ranges::any_of(layers_, [&](const SparseLayer& layer) { return in_scope(layer); });
}

std::vector<SparseLayer*> WeightSteering::scoped() {
  std::vector<SparseLayer*> layers;
  for (SparseLayer& layer : layers_)
    if (in_scope(layer)) layers.push_back(&layer);
  return layers;
}

// A soft projection needs a mask for its decay alone.
bool WeightSteering::keeps_mask() const {
  const PhaseConfig& now = at_.phase();
  return twill::projects(now) && (!now.weights.is_soft() || now.decay.on != DecayOn::kNone);
}

void WeightSteering::set_scale(const Context& context, SparseLayer& layer) const {
  layer.beta = soft_scale(context, at_.phase().weights, layer, sums_.slice(0, 4));
}

void WeightSteering::enter_phase(const Context& context) {
  // A scale is frozen for as long as soft phases of a layer follow one another.
  const bool was_soft = at_.phase_before().weights.is_soft();
  if (at_.phase().weights.is_soft())
    for (SparseLayer* layer : scoped())
      if (!was_soft || !at_.was_in_scope(*layer->seam)) set_scale(context, *layer);
  if (keeps_mask()) choose_masks(context, /*counts_flips=*/false);
  for (SparseLayer& layer : layers_) layer.interval_flips = 0.0;
}

bool WeightSteering::masks_due(std::int64_t age) const {
  const WeightsPart& part = at_.phase().weights;
  return keeps_mask() && part.refresh > 1 && age % part.refresh == 0;
}

void WeightSteering::choose_masks(const Context& context, bool counts_flips) {
  masks_changed_ = true;
  const WeightsPart& part = at_.phase().weights;
  for (SparseLayer* layer : scoped()) {
    if (!after_ || !counts_flips) {
      choose_mask(context, part, *layer->seam, layer->weight(), layer->mask);
      continue;
    }
    const View fresh = other_mask(*layer);
    choose_mask(context, part, *layer->seam, layer->weight(), fresh);
    layer->interval_flips = difference(context, fresh, layer->mask);
    copy(context, layer->mask, fresh);
  }
}

void WeightSteering::renew_masks(const Context& context, bool counts_flips) {
  const WeightsPart& part = at_.phase().weights;
  if (keeps_mask() && (part.refresh == 1 || part.is_soft())) choose_masks(context, counts_flips);
}

void WeightSteering::project_all(const Context& context) {
  const WeightsPart& part = at_.phase().weights;
  if (!twill::projects(at_.phase())) return;
  if (part.scale == SoftScale::kRecomputed && part.is_soft())
    for (SparseLayer* layer : scoped()) set_scale(context, *layer);
  if (part.is_soft() && !at_.runs_masked()) return;  // pack_all does it
  for (SparseLayer* layer : scoped())
    if (!layer->is_unpacked) project(context, part, *layer);
}

void WeightSteering::pack_all(const Context& context) {
  if (at_.runs_masked()) return;
  const WeightsPart& part = at_.phase().weights;
  std::vector<PackBothArgs> together;
  for (SparseLayer& layer : layers_) {
    if (in_scope(layer) && !part.is_dense()) {
      layer.packed.pack(context, layer, part, at_.entry_of(*layer.seam), !masks_changed_, together);
    } else {
      layer.packed.drop(layer);
    }
  }
  pack_weights(context, {.weights = together});
  masks_changed_ = false;
}

void WeightSteering::point_seam(const SparseLayer& layer) const {
  const PhaseConfig& now = at_.phase();
  LinearSeam& seam = *layer.seam;
  Route& route = seam.route;
  route.unpacked = layer.is_unpacked ? layer.projected : View();
  const bool scope = in_scope(layer);
  const bool projected = scope && twill::projects(now);
  route.forward.operand =
      projected && matches_any(now.weights.forward, seam.name) ? dense(layer.projected) : Operand();
  route.dgrad.operand =
      projected && matches_any(now.weights.dgrad, seam.name) ? dense(layer.projected) : Operand();
  // The quickest way samples only for a product that gains by it; any other runs the recipe as written.
  const bool packs = scope && at_.entry_of(seam).wgrad_below > 0.0;
  const bool samples = scope && (packs || at_.plan().execution != Execution::kFastest);
  route.wgrad.sample = samples ? sample_of(now.wgrad.estimator) : WgradSample::kDense;
  route.wgrad.packs_sample = packs && route.wgrad.sample != WgradSample::kDense;
  route.set_rounding(scope ? fp8_of(now.quantise.format) : Fp8Mode::kNone);
}

void WeightSteering::point_seams() {
  for (const SparseLayer& layer : layers_) point_seam(layer);
}

void WeightSteering::write_pulls() {
  const DecayPart& decay = at_.phase().decay;
  if (decay.on == DecayOn::kNone) return;
  for (const SparseLayer* layer : scoped()) {
    ParameterUpdate& update = layer->seam->weight->update;
    update.pull = pull_of(decay.on);
    update.mask = layer->mask;
    update.strength = decay.lambda;
  }
}

double WeightSteering::difference(const Context& context, ConstView a, ConstView b) const {
  const View count = sums_.slice(0, 1);
  mask_difference(context, {.a = a, .b = b, .count = count});
  const auto elements = static_cast<double>(a.num_elements());
  return elements > 0.0 ? host_values<double>(context, count)[0] / elements : 0.0;
}

View WeightSteering::other_mask(const SparseLayer& layer) const {
  return after_.slice(0, layer.num_weights()).reshaped(layer.seam->weight->shape);
}

std::vector<Deployment> WeightSteering::deployments() const {
  std::vector<Deployment> deployments;
  const WeightsPart& part = at_.phase().weights;
  for (const SparseLayer& layer : layers_) {
    if (!layer.seam->route.forward.operand) continue;
    const bool rows = axis_of(part.axis, *layer.seam) == GroupAxis::kWithinRow;
    deployments.push_back(
        {layer.seam->name,
         part.is_soft() ? fmt::format("soft-within-{} {:a}", rows ? "row" : "column", layer.beta)
                        : "mask"});
  }
  return deployments;
}

void WeightSteering::save(std::vector<StateTensor>& tensors) const {
  for (const SparseLayer& layer : layers_)
    if (layer.mask) tensors.push_back({layer.seam->name + ".mask", layer.mask});
}

void WeightSteering::save(StateTexts& texts) const {
  std::vector<double> scales, flips;
  for (const SparseLayer& layer : layers_) {
    scales.push_back(layer.beta);
    flips.push_back(layer.interval_flips);
  }
  texts["scales"] = text_of(scales);
  texts["interval_flips"] = text_of(flips);
}

void WeightSteering::restore(const StateTexts& texts) {
  const std::vector<double> scales = numbers_at(texts, "scales", layers_.size());
  const std::vector<double> flips = numbers_at(texts, "interval_flips", layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].beta = scales[i];
    layers_[i].interval_flips = flips[i];
  }
  masks_changed_ = true;
}

}  // namespace twill
