// SPDX-License-Identifier: Apache-2.0
// The ratio of two times on a machine that is never quiet: both are measured in turns, so that what
// disturbs one disturbs the other, and each turn gives a ratio of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/json_value.h"
#include "ops/context.h"

namespace twill::cli {

// The median of the ratios of neighbours, with the 95 % interval of that median by order statistics,
// which assumes nothing about how times are distributed. Five pairs or fewer have no such interval:
// it is then the smallest and the largest.
struct PairedRatio {
  double median = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::int64_t pairs = 0;
};

// Of above[i] / below[i]; at least one pair.
PairedRatio paired_ratio(std::span<const double> above, std::span<const double> below);

// Of an even number, the mean of the two in the middle.
double median_of(std::vector<double> values);

// "1.23 (1.21 to 1.25)"
std::string text_of(const PairedRatio& ratio);
JsonValue json_of(const PairedRatio& ratio);

struct TurnLimits {
  std::int64_t fewest = 7;
  std::int64_t most = 40;
  double seconds = 1.0;  // ends between the two
  // Before every body, because threads of a library may spin on for some time and hold cores; what
  // is timed is then the second call, behind one that wakes threads and fills caches.
  double rest_seconds = 0.0;
};

// Seconds of each body, [body][turn], behind one turn that warms up.
std::vector<std::vector<double>> time_in_turns(const Context& context,
                                               const std::vector<std::function<void()>>& bodies,
                                               const TurnLimits& limits);

}  // namespace twill::cli
