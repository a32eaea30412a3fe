// SPDX-License-Identifier: Apache-2.0
// The learning rate as a function of the step: a warm-up from zero, then one of
//
//   cosine    half a cosine from the peak to min_lr x peak at the last step
//   linear    a straight line between the same two points
//   wsd       warm-up, stable, decay: the peak, and a line down over the last decay_fraction
//   constant  the peak
#pragma once

#include <cstdint>

#include "train/run/run_config.h"

namespace twill {

// `step` counts from 1 to `steps`.
double learning_rate(const ScheduleConfig& schedule, double peak, std::int64_t step,
                     std::int64_t steps);

}  // namespace twill
