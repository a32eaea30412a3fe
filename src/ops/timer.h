// SPDX-License-Identifier: Apache-2.0
// Seconds of stretches of a context's work: by the device's clock where the backend has one, so
// that nothing stops in between; elsewhere by the host's.
#pragma once

#include <functional>
#include <memory>

#include "ops/context.h"

namespace twill {

// The context outlives the timer.
std::unique_ptr<Timer> open_timer(const Context& context);

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

}  // namespace twill
