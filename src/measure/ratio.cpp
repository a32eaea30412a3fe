// SPDX-License-Identifier: Apache-2.0
#include "measure/ratio.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace twill {
namespace {

// How many of `count` sorted values lie outside the interval at each end: the most for which the
// median of the distribution is outside with at most 5 %.
std::int64_t outside_interval(std::int64_t count) {
  double probability = std::pow(0.5, static_cast<double>(count));  // of no value below the median
  double below = probability;
  std::int64_t outside = 0;
  while (2.0 * below <= 0.05) {
    ++outside;
    probability *= static_cast<double>(count - outside + 1) / static_cast<double>(outside);
    below += probability;
  }
  return outside;
}

}  // namespace

double median_of(std::vector<double> values) {
  TWILL_CHECK(!values.empty(), "a median of something");
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

PairedRatio paired_ratio(std::span<const double> above, std::span<const double> below) {
  TWILL_CHECK(!above.empty() && above.size() == below.size(), "every time has its neighbour");
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size(); ++i) ratios.push_back(above[i] / below[i]);
  std::ranges::sort(ratios);
  const auto count = static_cast<std::int64_t>(ratios.size());
  // The interval reaches from the first value that is not outside to the last.
  const auto first = static_cast<std::size_t>(std::max<std::int64_t>(outside_interval(count), 1));
  return {.median = median_of(ratios),
          .low = ratios[first - 1],
          .high = ratios[ratios.size() - first],
          .pairs = count};
}

}  // namespace twill
