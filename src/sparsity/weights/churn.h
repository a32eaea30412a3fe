// SPDX-License-Identifier: Apache-2.0
// How much of a topology one update replaces, and by what.
//
//   zeta(t) = zeta/2 (1 + cos(pi c (t - t0) / (t1 - t0)))
//
// A restart sets t0 = its step and zeta = its own; t1 is the next restart's step, or the end. c = 1
// falls to 0 in every segment, 0.5 to half, 0 stays. All in f64 on the host, so that every rank and
// backend counts the same.
//
//   e = active - target,  prune = max(floor(active zeta), e),  grow = prune - e
//   by gradient floor(grow r / (r + 1)), the rest at random; r = infinity: all by gradient
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace twill {

struct ChurnRestart {
  std::int64_t step = 0;
  double zeta = 0.3;
};

struct ChurnSchedule {
  std::vector<ChurnRestart> restarts = {{}};  // ascending, the first at the first step
  std::int64_t end = 0;
  double c = 1.0;
};

void validate(const ChurnSchedule& schedule);

// The share to drop at `step`; behind the end, what it is at the end.
double churn_at(const ChurnSchedule& schedule, std::int64_t step);

constexpr double kGrowByGradient = std::numeric_limits<double>::infinity();
constexpr double kGrowAtRandom = 0.0;

struct UpdateCounts {
  std::int64_t num_prune = 0;
  std::int64_t num_grad = 0;
  std::int64_t num_random = 0;

  std::int64_t num_grow() const { return num_grad + num_random; }
};

// Of one layer with `num_active` weights on that shall have `num_target`; `ratio` is r.
UpdateCounts update_counts(std::int64_t num_active, std::int64_t num_target, double zeta,
                           double ratio);

}  // namespace twill
