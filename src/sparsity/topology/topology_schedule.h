// SPDX-License-Identifier: Apache-2.0
// How dense a kept topology should be over a run, and how much of it an update replaces.
#pragma once

#include <cstdint>

#include "sparsity/recipe/phase_clock.h"
#include "sparsity/recipe/recipe.h"

namespace twill {

class TopologySchedule {
 public:
  // Both are borrowed.
  TopologySchedule(const RecipeConfig& recipe, const PhaseClock& clock, std::int64_t num_steps)
      : recipe_(recipe), clock_(clock), num_steps_(num_steps) {}

  const PhaseConfig& phase_at(std::int64_t step) const;
  // The density that the schedule asks for at `step`; 1 where its phase keeps no topology.
  double density_at(std::int64_t step) const;
  // The density that an update in front of `step` aims at: a stair before the next update is taken
  // by this one, so that the last one is never missed.
  double density_of_update(std::int64_t step) const;
  // Share of the kept weights that an update at `step` replaces.
  double churn_at(std::int64_t step) const;
  // Whether step `step` (counted from 0) ends in an update of a topology that is `density` now.
  bool updates_after(std::int64_t step, double density) const;

 private:
  const RecipeConfig& recipe_;
  const PhaseClock& clock_;
  std::int64_t num_steps_;
};

}  // namespace twill
