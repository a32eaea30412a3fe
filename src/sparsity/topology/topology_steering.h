// SPDX-License-Identifier: Apache-2.0
// The part `topology` over a whole run: how dense it should be at a step, the first topology, and the
// updates that move it. Weights of a topology are zero wherever its mask is.
#pragma once

#include <cstdint>
#include <vector>

#include "sparsity/topology/topology_schedule.h"
#include "sparsity/weights/weight_steering.h"

namespace twill {

class TopologySteering {
 public:
  TopologySteering(const RunPosition& at, WeightSteering& weights, std::uint64_t seed);
  TopologySteering(const TopologySteering&) = delete;
  TopologySteering& operator=(const TopologySteering&) = delete;

  // What the last update (or the start) has left.
  double density() const { return density_; }

  // Draws the first topology for the phase that begins at `step`, and zeroes the rest: weights, and
  // moments where there are any.
  void start(const Context& context, std::int64_t step);

  // Whether step `step` (counted from 0) ends in an update instead of an ordinary change.
  bool updates_after(std::int64_t step) const { return schedule_.updates_after(step, density_); }
  // One update with the dense gradients of this step. The host looks at masks in between.
  void update(const Context& context, std::int64_t step);

  void save(StateTexts& texts) const;
  void restore(const StateTexts& texts);

 private:
  void move(const Context& context, SparseLayer& layer, std::int64_t next,
            std::int64_t wanted) const;
  std::vector<std::int64_t> targets(const std::vector<SparseLayer*>& layers, double density,
                                    const TopologyPart& part) const;

  WeightSteering& weights_;
  TopologySchedule schedule_;
  std::uint64_t seed_;
  double density_ = 1.0;
};

}  // namespace twill
