// SPDX-License-Identifier: Apache-2.0
#include "sparsity/activations/feature_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/require.h"

namespace twill {

std::vector<std::uint8_t> dense_neurons(std::span<const std::int32_t> counts, double share) {
  require(share >= 0.0 && share <= 1.0, "[dense_neurons] share must be in [0, 1], got {}", share);
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  // 0.07 * 100 is 7.000000000000001 in f64, and shall be 7 neurons.
  const double exact = share * static_cast<double>(counts.size());
  const auto num_dense = static_cast<std::size_t>(std::ceil(exact * (1.0 - 1e-12)));
  std::vector<std::uint8_t> is_dense(counts.size());
  for (std::size_t k = 0; k < std::min(num_dense, order.size()); ++k) is_dense[order[k]] = 1;
  return is_dense;
}

}  // namespace twill
