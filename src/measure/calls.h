// SPDX-License-Identifier: Apache-2.0
// Seconds of one call, of which there are several to time; what is compared is better timed in turns
// (measure/turns.h).
#pragma once

#include <functional>

#include "ops/context.h"

namespace twill {

// The best of `fewest` calls behind one that warms caches, and of more while they have not taken
// `enough` seconds together, `most` in all.
struct CallLimits {
  int fewest = 3;
  int most = 20;
  double enough = 0.04;
};
double best_seconds(const Context& context, const CallLimits& limits,
                    const std::function<void()>& body);

// A call's share of a stretch of `enough` seconds without a pause, behind one that warms caches: for
// devices whose clocks fall under load, where the best call is one that came after a rest.
double steady_seconds(const Context& context, double enough, const std::function<void()>& body,
                      int most_calls = 2000);

// Of one call of what computes on the host alone.
double wall_seconds(const std::function<void()>& body);

}  // namespace twill
