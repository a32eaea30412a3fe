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
void hide_moments(const Context& context, const SparseLayer& layer) {
  const Moments& moments = layer.seam->weight->moments;
  for (const View& moment : {moments.m, moments.v})
    apply_mask(context, {.x = moment, .mask = layer.mask, .y = moment});
}

// Kept weights of a layer, for counts that decide.
std::int64_t num_active(const Context& context, const SparseLayer& layer) {
  const HostCopy mask(context, layer.mask);
  const std::uint8_t* bits = mask.view().as<std::uint8_t>();
  return std::count(bits, bits + layer.num_weights(), std::uint8_t{1});
}

}  // namespace

TopologySteering::TopologySteering(const RunPosition& at, WeightSteering& weights,
                                   std::uint64_t seed)
    : weights_(weights), schedule_(at.recipe(), at.clock(), at.num_steps()), seed_(seed) {}

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

void TopologySteering::start(const Context& context, std::int64_t step) {
  weights_.note_new_masks();
  const std::vector<SparseLayer*> layers = weights_.scoped();
  const TopologyPart& part = schedule_.phase_at(step).topology;
  const double density = schedule_.density_at(step);
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
    if (layer.seam->weight->moments.m &&
        schedule_.phase_at(step).optimizer.regrown != Regrown::kKeep)
      hide_moments(context, layer);
  }
}

void TopologySteering::update(const Context& context, std::int64_t step) {
  const std::int64_t next = step + 1;
  const bool compares = weights_.compares_masks();
  for (SparseLayer& layer : weights_.layers())
    if (compares) copy(context, layer.before, layer.mask);
  density_ = schedule_.density_of_update(next);
  const std::vector<SparseLayer*> layers = weights_.scoped();
  const std::vector<std::int64_t> wanted =
      targets(layers, density_, schedule_.phase_at(next).topology);
  for (std::size_t i = 0; i < layers.size(); ++i) move(context, *layers[i], next, wanted[i]);
  weights_.note_new_masks();
  for (SparseLayer& layer : weights_.layers())
    if (compares) layer.interval_flips = weights_.difference(context, layer.before, layer.mask);
}

void TopologySteering::move(const Context& context, SparseLayer& layer, std::int64_t next,
                            std::int64_t wanted) const {
  const PhaseConfig& phase = schedule_.phase_at(next);
  const TopologyPart& part = phase.topology;
  const Parameter& weight = *layer.seam->weight;
  const UpdateCounts counts =
      update_counts(num_active(context, layer), wanted, schedule_.churn_at(next), grow_ratio(part));
  topology_update(context, {.weight = weight.value,
                            .grad = weight.gradient,
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
  layer.density = static_cast<double>(wanted) / static_cast<double>(layer.num_weights());
  if (phase.optimizer.regrown == Regrown::kKeep) return;
  regrow_moments(
      context, {.m = weight.moments.m,
                .v = weight.moments.v,
                .mask = layer.mask,
                .grown = layer.grown,
                .policy = phase.optimizer.regrown == Regrown::kZero ? RegrownMoments::kZero
                                                                    : RegrownMoments::kLayerMean});
  hide_moments(context, layer);
}

void TopologySteering::save(StateTexts& texts) const {
  std::vector<double> densities;
  for (const SparseLayer& layer : weights_.layers()) densities.push_back(layer.density);
  texts["topology"] = text_of({density_});
  texts["densities"] = text_of(densities);
}

void TopologySteering::restore(const StateTexts& texts) {
  density_ = numbers_at(texts, "topology", 1)[0];
  const std::vector<double> densities = numbers_at(texts, "densities", weights_.layers().size());
  for (std::size_t i = 0; i < densities.size(); ++i) weights_.layers()[i].density = densities[i];
}

}  // namespace twill
