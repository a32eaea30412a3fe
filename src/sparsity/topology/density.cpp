// SPDX-License-Identifier: Apache-2.0
#include "sparsity/topology/density.h"

#include <cmath>
#include <cstddef>

#include "base/require.h"

namespace twill {
namespace {

// dens_l at eps = 1.
double erdos_renyi_share(const LayerShape& shape) {
  return static_cast<double>(shape.in + shape.out) / static_cast<double>(shape.num_weights());
}

// eps that gives the layers below 1 what the total leaves them; 0 when all are dense.
double solve_eps(std::span<const LayerShape> shapes, const std::vector<double>& densities,
                 double density) {
  double wanted = 0.0, per_eps = 0.0;
  for (std::size_t l = 0; l < shapes.size(); ++l) {
    const auto weights = static_cast<double>(shapes[l].num_weights());
    const bool dense = densities[l] >= 1.0;
    wanted += density * weights - (dense ? weights : 0.0);
    if (!dense) per_eps += static_cast<double>(shapes[l].in + shapes[l].out);
  }
  return per_eps > 0.0 ? wanted / per_eps : 0.0;
}

std::vector<double> erdos_renyi(std::span<const LayerShape> shapes, double density) {
  std::vector<double> densities(shapes.size(), 0.0);
  for (bool again = true; again;) {
    again = false;
    const double eps = solve_eps(shapes, densities, density);
    for (std::size_t l = 0; l < shapes.size(); ++l) {
      if (densities[l] >= 1.0) continue;
      densities[l] = eps * erdos_renyi_share(shapes[l]);
      if (densities[l] < 1.0) continue;
      densities[l] = 1.0;
      again = true;
    }
  }
  return densities;
}

}  // namespace

std::vector<double> layer_densities(DensityRule rule, std::span<const LayerShape> shapes,
                                    double density) {
  require(density > 0.0 && density <= 1.0, "density must be above 0 and at most 1, got {}",
          density);
  for (const LayerShape& shape : shapes)
    require(shape.out > 0 && shape.in > 0, "a layer must have weights, got {} x {}", shape.out,
            shape.in);
  // At 1 the solver's rounding could leave a layer a hair below it.
  if (rule == DensityRule::kUniform || density == 1.0)
    return std::vector<double>(shapes.size(), density);
  return erdos_renyi(shapes, density);
}

std::vector<std::int64_t> layer_targets(DensityRule rule, std::span<const LayerShape> shapes,
                                        double density) {
  std::vector<std::int64_t> targets;
  const std::vector<double> densities = layer_densities(rule, shapes, density);
  for (std::size_t l = 0; l < shapes.size(); ++l)
    targets.push_back(std::llround(densities[l] * static_cast<double>(shapes[l].num_weights())));
  return targets;
}

}  // namespace twill
