// SPDX-License-Identifier: Apache-2.0
#include "train/step/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace twill {
namespace {

// Share of the way from `begin` to `end` that `step` has gone, in [0, 1].
double progress(std::int64_t step, double begin, double end) {
  if (end <= begin) return 1.0;
  return std::clamp((static_cast<double>(step) - begin) / (end - begin), 0.0, 1.0);
}

}  // namespace

double learning_rate(const ScheduleConfig& schedule, double peak, std::int64_t step,
                     std::int64_t steps) {
  const auto warmup = static_cast<double>(schedule.warmup_steps);
  const auto last = static_cast<double>(steps);
  if (step <= schedule.warmup_steps) return peak * static_cast<double>(step) / warmup;
  if (schedule.kind == "constant") return peak;
  const double low = schedule.min_lr * peak;
  if (schedule.kind == "cosine") {
    const double share = progress(step, warmup, last);
    return low + 0.5 * (peak - low) * (1.0 + std::cos(std::numbers::pi * share));
  }
  const double begin =
      schedule.kind == "wsd" ? std::max(warmup, last * (1.0 - schedule.decay_fraction)) : warmup;
  if (static_cast<double>(step) <= begin) return peak;
  return peak - (peak - low) * progress(step, begin, last);
}

}  // namespace twill
