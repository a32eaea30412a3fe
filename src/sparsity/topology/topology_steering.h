// SPDX-License-Identifier: Apache-2.0
// The part `topology` over a whole run: how dense it should be at a step, the first topology, and the
// updates that move it. Weights of a topology are zero wherever its mask is.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sparsity/recipe/phase_clock.h"
#include "sparsity/weights/weight_projection.h"

namespace twill {

struct Moments {
  View m;
  View v;
};
// The optimizer state of a parameter.
using MomentsOf = std::function<Moments(const Parameter&)>;

class TopologySteering {
 public:
  TopologySteering(const RecipeConfig& recipe, const PhaseClock& clock, std::int64_t num_steps,
                   std::uint64_t seed);

  // The density that the schedule asks for at `step`; 1 where its phase keeps no topology.
  double density_at(std::int64_t step) const;
  // The density that an update in front of `step` aims at: a stair before the next update is taken
  // by this one, so that the last one is never missed.
  double density_of_update(std::int64_t step) const;
  // What the last update (or the start) has left.
  double density() const { return density_; }
  void restore(double density) { density_ = density; }
  // Share of the kept weights that an update at `step` replaces.
  double churn_at(std::int64_t step) const;

  // Draws the first topology of `layers` for the phase that begins at `step`, and zeroes the rest:
  // weights, and moments where `moments` knows them.
  void start(const Context& context, const std::vector<SparseLayer*>& layers, std::int64_t step,
             const MomentsOf& moments);

  // Whether step `step` (counted from 0) ends in an update instead of an ordinary change.
  bool updates_after(std::int64_t step) const;
  // One update with the dense gradients of this step.
  void update(const Context& context, const std::vector<SparseLayer*>& layers, std::int64_t step,
              const MomentsOf& moments);

  // Kept weights of a layer, for counts that decide; in the order of `layers`.
  static std::int64_t num_active(const Context& context, const SparseLayer& layer);

 private:
  const PhaseConfig& phase_at(std::int64_t step) const;
  std::vector<std::int64_t> targets(const std::vector<SparseLayer*>& layers, double density,
                                    const TopologyPart& part) const;

  const RecipeConfig& recipe_;
  const PhaseClock& clock_;
  std::int64_t num_steps_;
  std::uint64_t seed_;
  double density_ = 1.0;
};

}  // namespace twill
