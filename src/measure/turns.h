// SPDX-License-Identifier: Apache-2.0
// Times on a machine that is never quiet: what is compared is measured in turns, so that what disturbs
// one disturbs the others (measure/ratio.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ops/context.h"

namespace twill {

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

}  // namespace twill
