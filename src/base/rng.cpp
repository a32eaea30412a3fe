// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <cmath>
#include <numbers>

namespace twill {

float normal_float(std::uint32_t bits0, std::uint32_t bits1) {
  // (bits + 1/2) / 2^32 lies in the open unit interval, so the logarithm is finite.
  const double u = (static_cast<double>(bits0) + 0.5) * 0x1p-32;
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(bits1) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(angle));
}

}  // namespace twill
