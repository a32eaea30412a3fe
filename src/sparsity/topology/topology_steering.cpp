// SPDX-License-Identifier: Apache-2.0
#include "sparsity/topology/topology_steering.h"

#include <algorithm>
#include <cmath>

#include "ops/selection/mask.h"
#include "ops/selection/topology.h"
#include "ops/transfer.h"
#include "sparsity/topology/density.h"
#include "sparsity/weights/churn.h"

namespace twill {
namespace {

DropScore drop_score(const TopologyPart& part) {
  if (part.drop == DropBy::kMest) return DropScore::kMest;
  return part.drop == DropBy::kSensitivity ? DropScore::kSensitivity : DropScore::kMagnitude;
}

double grow_ratio(const TopologyPart& part) {
  if (part.grow == GrowBy::kRandom) return kGrowAtRandom;
  return part.grow == GrowBy::kGradient ? kGrowByGradient : part.grow_ratio;
}

// A weight that leaves the topology leaves its moments behind, so that only kept entries have any.
void hide_moments(const Context& context, const SparseLayer& layer, const Moments& moments) {
  for (const View& moment : {moments.m, moments.v})
    apply_mask(context, {.x = moment, .mask = layer.mask, .y = moment});
}

}  // namespace

TopologySteering::TopologySteering(const RecipeConfig& recipe, const PhaseClock& clock,
                                   std::int64_t num_steps, std::uint64_t seed)
    : recipe_(recipe), clock_(clock), num_steps_(num_steps), seed_(seed) {}

const PhaseConfig& TopologySteering::phase_at(std::int64_t step) const {
  return recipe_.phase[static_cast<std::size_t>(clock_.phase_at(step))];
}

double TopologySteering::density_at(std::int64_t step) const {
  const PhaseConfig& phase = phase_at(step);
  if (!phase.weights.is_topology()) return 1.0;
  const TopologyPart& part = phase.topology;
  const std::int64_t index = clock_.phase_at(step);
  const std::int64_t begin = clock_.begin_of(index), length = clock_.end_of(index) - begin;
  const std::int64_t wanted =
      part.stairs > 0 ? part.stairs
                      : std::max<std::int64_t>(1, length / part.interval_in(num_steps_));
  const std::int64_t stairs = std::min(wanted, length);  // at most one per step
  std::int64_t stair = (step - begin) * stairs / length;
  if (part.first_stair == FirstStair::kAtStart) ++stair;
  stair = std::min(stair, stairs);
  if (stair == stairs) return part.end();
  return part.density +
         (part.end() - part.density) * static_cast<double>(stair) / static_cast<double>(stairs);
}

double TopologySteering::density_of_update(std::int64_t step) const {
  const std::int64_t last = clock_.end_of(clock_.phase_at(step)) - 1;
  const std::int64_t next = step + phase_at(step).topology.interval_in(num_steps_);
  return density_at(std::min(next - 1, std::max(step, last)));
}

double TopologySteering::churn_at(std::int64_t step) const {
  const TopologyPart& part = phase_at(step).topology;
  const std::int64_t index = clock_.phase_at(step);
  const bool by_phase = part.anneal == Anneal::kPhase;
  return twill::churn_at({.restarts = {{by_phase ? clock_.begin_of(index) : 0, part.churn}},
                          .end = by_phase ? clock_.end_of(index) : num_steps_,
                          .c = part.anneal_turn},
                         step);
}

std::vector<std::int64_t> TopologySteering::targets(const std::vector<SparseLayer*>& layers,
                                                    double density,
                                                    const TopologyPart& part) const {
  std::vector<LayerShape> shapes;
  shapes.reserve(layers.size());
  for (const SparseLayer* layer : layers)
    shapes.push_back({layer->seam->weight->shape[0], layer->seam->weight->shape[1]});
  return layer_targets(part.distribution == Distribution::kUniform ? DensityRule::kUniform
                                                                   : DensityRule::kErdosRenyi,
                       shapes, density);
}

std::int64_t TopologySteering::num_active(const Context& context, const SparseLayer& layer) {
  const HostCopy mask(context, layer.mask);
  const std::uint8_t* bits = mask.view().as<std::uint8_t>();
  return std::count(bits, bits + layer.num_weights(), std::uint8_t{1});
}

void TopologySteering::start(const Context& context, const std::vector<SparseLayer*>& layers,
                             std::int64_t step, const MomentsOf& moments) {
  const TopologyPart& part = phase_at(step).topology;
  const double density = density_at(step);
  const std::vector<std::int64_t> wanted = targets(layers, density, part);
  density_ = density;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    SparseLayer& layer = *layers[i];
    const bool whole = wanted[i] == layer.num_weights();
    const bool by_magnitude = !whole && part.start == TopologyStart::kMagnitude;
    // By magnitude: drop from a full mask. By chance: grow in an empty one.
    const std::vector<std::uint8_t> first(static_cast<std::size_t>(layer.num_weights()),
                                          whole || by_magnitude ? 1 : 0);
    copy_in(context, layer.mask, first.data());
    layer.density = static_cast<double>(wanted[i]) / static_cast<double>(layer.num_weights());
    if (whole) continue;
    topology_update(context, {.weight = by_magnitude ? layer.seam->weight->value : View(),
                              .mask = layer.mask,
                              .grown = layer.grown,
                              .num_prune = by_magnitude ? layer.num_weights() - wanted[i] : 0,
                              .num_random = by_magnitude ? 0 : wanted[i],
                              .seed = seed_,
                              .update = 0,
                              .stream = layer.seam->stream});
    hide_weights(context, layer);
    if (moments && phase_at(step).optimizer.regrown != Regrown::kKeep)
      hide_moments(context, layer, moments(*layer.seam->weight));
  }
}

bool TopologySteering::updates_after(std::int64_t step) const {
  const std::int64_t next = step + 1;
  if (next >= num_steps_ || !phase_at(step).weights.is_topology()) return false;
  const PhaseConfig& phase = phase_at(next);
  if (!phase.weights.is_topology() || next % phase.topology.interval_in(num_steps_) != 0)
    return false;
  // Of a whole matrix nothing is left to exchange: once dense again, training is plain.
  return density_of_update(next) != density_ || (density_ < 1.0 && phase.topology.churn > 0.0);
}

void TopologySteering::update(const Context& context, const std::vector<SparseLayer*>& layers,
                              std::int64_t step, const MomentsOf& moments) {
  const std::int64_t next = step + 1;
  const PhaseConfig& phase = phase_at(next);
  const TopologyPart& part = phase.topology;
  density_ = density_of_update(next);
  const std::vector<std::int64_t> wanted = targets(layers, density_, part);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    SparseLayer& layer = *layers[i];
    const UpdateCounts counts =
        update_counts(num_active(context, layer), wanted[i], churn_at(next), grow_ratio(part));
    topology_update(context, {.weight = layer.seam->weight->value,
                              .grad = layer.seam->weight->gradient,
                              .mask = layer.mask,
                              .grown = layer.grown,
                              .score = drop_score(part),
                              .mest_lambda = part.mest_lambda,
                              .num_prune = counts.num_prune,
                              .num_grad = counts.num_grad,
                              .num_random = counts.num_random,
                              .seed = seed_,
                              .update = static_cast<std::uint32_t>(next),
                              .stream = layer.seam->stream});
    layer.density = static_cast<double>(wanted[i]) / static_cast<double>(layer.num_weights());
    if (phase.optimizer.regrown == Regrown::kKeep) continue;
    const Moments state = moments(*layer.seam->weight);
    regrow_moments(context, {.m = state.m,
                             .v = state.v,
                             .mask = layer.mask,
                             .grown = layer.grown,
                             .policy = phase.optimizer.regrown == Regrown::kZero
                                           ? RegrownMoments::kZero
                                           : RegrownMoments::kLayerMean});
    hide_moments(context, layer, state);
  }
}

}  // namespace twill
