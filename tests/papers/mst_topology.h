// SPDX-License-Identifier: Apache-2.0
// One layer under topology updates: what the MST tests drive.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "ops/selection/topology.h"

namespace twill {

struct Layer {
  std::vector<float> weight, grad;
  std::vector<std::uint8_t> mask, grown;

  explicit Layer(std::size_t size) : weight(size), grad(size), mask(size), grown(size) {}

  Shape shape() const { return {static_cast<std::int64_t>(weight.size())}; }
  std::int64_t num_active() const { return std::accumulate(mask.begin(), mask.end(), 0); }

  TopologyUpdateArgs args() {
    return {.weight = view_of(weight.data(), shape()),
            .grad = view_of(grad.data(), shape()),
            .mask = view_of(mask.data(), shape()),
            .grown = view_of(grown.data(), shape())};
  }
};

inline std::vector<std::size_t> ones(const std::vector<std::uint8_t>& mask) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i] != 0) indices.push_back(i);
  return indices;
}

}  // namespace twill
