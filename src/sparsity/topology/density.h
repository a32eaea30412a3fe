// SPDX-License-Identifier: Apache-2.0
// How a total density is spread over the weight matrices of a model.
//
//   uniform       every layer has the total density
//   Erdős–Rényi   dens_l = eps (in + out) / (in out), with eps such that the active weights of all
//                 layers add up to the total; a layer that would pass 1 is dense, and eps is solved
//                 again for the others
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace twill {

struct LayerShape {
  std::int64_t out = 0;
  std::int64_t in = 0;

  std::int64_t num_weights() const { return out * in; }
};

enum class DensityRule : std::uint8_t { kUniform, kErdosRenyi };

// `density` is above 0 and at most 1. In the order of `shapes`.
std::vector<double> layer_densities(DensityRule rule, std::span<const LayerShape> shapes,
                                    double density);

// round(dens_l N_l) active weights per layer: what topology updates aim at.
std::vector<std::int64_t> layer_targets(DensityRule rule, std::span<const LayerShape> shapes,
                                        double density);

}  // namespace twill
