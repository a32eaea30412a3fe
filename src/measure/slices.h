// SPDX-License-Identifier: Apache-2.0
// Seconds of short calls on a device whose clocks follow its load: candidates run in turns, each for a
// slice of many calls, so that all of them see the same heat and the same power limit; slices are
// counted once the times have settled.
#pragma once

#include <functional>
#include <vector>

#include "ops/context.h"

namespace twill {

struct SliceLimits {
  double seconds = 1.0;         // counted, of each body; 0: five slices of one call, at once
  double slice_seconds = 0.05;  // at most a fifth of `seconds`
  // Times are settled when every body takes as long as in the round before, within so much.
  double settled_within = 0.01;
};

// Seconds of one call, [body][slice]; every body has as many slices as the others, at least five. Before
// the first counted one: a call each, then rounds of slices for half of `seconds` (a second at most) and
// until they settle, at most for twice `seconds`.
std::vector<std::vector<double>> time_in_slices(const Context& context,
                                                const std::vector<std::function<void()>>& bodies,
                                                const SliceLimits& limits);

}  // namespace twill
