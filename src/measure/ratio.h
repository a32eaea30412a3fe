// SPDX-License-Identifier: Apache-2.0
// What times that were measured side by side say of each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace twill {

// Of an even number, the mean of the two in the middle; at least one.
double median_of(std::vector<double> values);

// The median of the ratios of neighbours, with the 95 % interval of that median by order statistics,
// which assumes nothing about how times are distributed. Five pairs or fewer have no such interval:
// it is then the smallest and the largest.
struct PairedRatio {
  double median = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::int64_t pairs = 0;
};

// Of above[i] / below[i]; at least one pair.
PairedRatio paired_ratio(std::span<const double> above, std::span<const double> below);

}  // namespace twill
