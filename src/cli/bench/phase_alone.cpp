// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/phase_alone.h"

#include <algorithm>

#include "sparsity/recipe/phase_clock.h"
#include "sparsity/topology/topology_schedule.h"

namespace twill::cli {

PhaseAlone phase_alone(const RecipeConfig& recipe, const RunLength& length, double at) {
  if (recipe.phase.empty()) return {.recipe = recipe};
  const auto steps = static_cast<double>(length.steps);
  const std::int64_t step =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(at * steps), 0, length.steps - 1);
  const PhaseClock clock(recipe, length);
  const std::int64_t index = clock.phase_at(step);
  PhaseConfig phase = recipe.phase[static_cast<std::size_t>(index)];
  if (phase.weights.is_topology()) {
    phase.topology.density = TopologySchedule(recipe, clock, length.steps).density_at(step);
    phase.topology.density_end = -1.0;
  }
  phase.until = "1.0";
  phase.early_end = {};
  // Moments that nobody has gathered are zero: frozen, they would make every update infinite.
  phase.optimizer.second_moment = SecondMoment::kAdaptive;
  PhaseAlone alone{.recipe = recipe, .phase = index};
  alone.recipe.phase = {phase};
  return alone;
}

Plan plan_of_phase(const Plan& plan, std::int64_t phase) {
  Plan alone = plan;
  std::erase_if(alone.layer, [&](const PlanEntry& entry) { return entry.phase != phase; });
  for (PlanEntry& entry : alone.layer) entry.phase = 0;
  return alone;
}

std::int64_t RareWork::next(std::int64_t step) const {
  return every <= 0 ? step : step + ((remainder - step) % every + every) % every;
}

RareWork rare_work(const PhaseConfig& phase, std::int64_t steps) {
  const WeightsPart& weights = phase.weights;
  if (weights.is_topology()) {
    if (phase.topology.churn == 0.0 || phase.topology.density >= 1.0) return {};
    const std::int64_t every = phase.topology.interval_in(steps);
    return {.every = every, .remainder = every - 1, .what = "an update of the topology"};
  }
  if (weights.is_dense() || weights.is_soft() || weights.refresh == 1) return {};
  return {.every = weights.refresh, .remainder = 0, .what = "new masks"};
}

double mean_seconds(double common, double rare, std::int64_t every) {
  return every <= 0 ? common : common + (rare - common) / static_cast<double>(every);
}

}  // namespace twill::cli
