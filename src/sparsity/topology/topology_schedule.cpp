// SPDX-License-Identifier: Apache-2.0
#include "sparsity/topology/topology_schedule.h"

#include <algorithm>

#include "sparsity/weights/churn.h"

namespace twill {

const PhaseConfig& TopologySchedule::phase_at(std::int64_t step) const {
  return recipe_.phase[static_cast<std::size_t>(clock_.phase_at(step))];
}

double TopologySchedule::density_at(std::int64_t step) const {
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

double TopologySchedule::density_of_update(std::int64_t step) const {
  const std::int64_t last = clock_.end_of(clock_.phase_at(step)) - 1;
  const std::int64_t next = step + phase_at(step).topology.interval_in(num_steps_);
  return density_at(std::min(next - 1, std::max(step, last)));
}

double TopologySchedule::churn_at(std::int64_t step) const {
  const TopologyPart& part = phase_at(step).topology;
  const std::int64_t index = clock_.phase_at(step);
  const bool by_phase = part.anneal == Anneal::kPhase;
  return twill::churn_at({.restarts = {{by_phase ? clock_.begin_of(index) : 0, part.churn}},
                          .end = by_phase ? clock_.end_of(index) : num_steps_,
                          .c = part.anneal_turn},
                         step);
}

bool TopologySchedule::updates_after(std::int64_t step, double density) const {
  const std::int64_t next = step + 1;
  if (next >= num_steps_ || !phase_at(step).weights.is_topology()) return false;
  const PhaseConfig& phase = phase_at(next);
  if (!phase.weights.is_topology() || next % phase.topology.interval_in(num_steps_) != 0)
    return false;
  // Of a whole matrix nothing is left to exchange: once dense again, training is plain.
  return density_of_update(next) != density || (density < 1.0 && phase.topology.churn > 0.0);
}

}  // namespace twill
