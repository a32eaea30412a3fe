// SPDX-License-Identifier: Apache-2.0
// Which neurons leave the sparse path: a few per cent fire for most tokens, and 2:4 along tokens
// would drop most of what they say. They go through a small dense product instead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace twill {

// counts[i] = how often neuron i was not zero (ops/selection/mask.h, count_nonzero). 1 for the densest
// ceil(share f) neurons, of equal counts the lowest index first; 0 for the others.
std::vector<std::uint8_t> dense_neurons(std::span<const std::int32_t> counts, double share);

}  // namespace twill
