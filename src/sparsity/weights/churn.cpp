// SPDX-License-Identifier: Apache-2.0
#include "sparsity/weights/churn.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/require.h"

namespace twill {
namespace {

bool is_share(double value) { return value >= 0.0 && value <= 1.0; }

std::int64_t grown_by_gradient(std::int64_t num_grow, double ratio) {
  if (std::isinf(ratio)) return num_grow;
  return static_cast<std::int64_t>(
      std::floor(static_cast<double>(num_grow) * ratio / (ratio + 1.0)));
}

}  // namespace

void validate(const ChurnSchedule& schedule) {
  require(!schedule.restarts.empty(), "churn needs a first zeta");
  require(is_share(schedule.c), "the churn's c must be from 0 to 1, got {}", schedule.c);
  for (std::size_t k = 0; k < schedule.restarts.size(); ++k) {
    const ChurnRestart& restart = schedule.restarts[k];
    require(is_share(restart.zeta), "zeta must be from 0 to 1, got {}", restart.zeta);
    const bool last = k + 1 == schedule.restarts.size();
    const std::int64_t next = last ? schedule.end : schedule.restarts[k + 1].step;
    require(restart.step < next, "churn restarts at step {}, which is not before {} {}",
            restart.step, last ? "the end at" : "the next at", next);
  }
}

double churn_at(const ChurnSchedule& schedule, std::int64_t step) {
  std::size_t k = schedule.restarts.size() - 1;
  while (k > 0 && schedule.restarts[k].step > step) --k;
  const ChurnRestart& restart = schedule.restarts[k];
  const std::int64_t end =
      k + 1 < schedule.restarts.size() ? schedule.restarts[k + 1].step : schedule.end;
  const std::int64_t inside = std::clamp(step, restart.step, end);
  const double share =
      static_cast<double>(inside - restart.step) / static_cast<double>(end - restart.step);
  return restart.zeta / 2.0 * (1.0 + std::cos(std::numbers::pi * schedule.c * share));
}

UpdateCounts update_counts(std::int64_t num_active, std::int64_t num_target, double zeta,
                           double ratio) {
  require(num_active >= 0 && num_target >= 0, "counts of weights must be 0 or more, got {} and {}",
          num_active, num_target);
  require(is_share(zeta), "zeta must be from 0 to 1, got {}", zeta);
  require(ratio >= 0.0, "the ratio of growth must be 0 or more, got {}", ratio);
  const std::int64_t excess = num_active - num_target;
  const auto churned =
      static_cast<std::int64_t>(std::floor(static_cast<double>(num_active) * zeta));
  UpdateCounts counts;
  counts.num_prune = std::max(churned, excess);
  const std::int64_t num_grow = counts.num_prune - excess;
  counts.num_grad = grown_by_gradient(num_grow, ratio);
  counts.num_random = num_grow - counts.num_grad;
  return counts;
}

}  // namespace twill
