// SPDX-License-Identifier: Apache-2.0
#include "train/run/frozen_projection.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace twill {
namespace {

// One group, its elements `stride` apart.
void project_group(const float* old, const float* fresh, std::int64_t stride, float scale,
                   float* y) {
  std::array<float, 4> magnitudes{};
  for (std::int64_t i = 0; i < 4; ++i)
    magnitudes[static_cast<std::size_t>(i)] = std::fabs(old[i * stride]);
  std::ranges::sort(magnitudes);
  const float threshold = magnitudes[1];
  for (std::int64_t i = 0; i < 4; ++i) {
    const float above = std::fabs(fresh[i * stride]) - threshold;
    const bool kept = std::fabs(old[i * stride]) > threshold && above > 0.0F;
    y[i * stride] = kept ? scale * std::copysign(above, fresh[i * stride]) : 0.0F;
  }
}

}  // namespace

void project_with_old_threshold(ConstView old, ConstView fresh, GroupAxis axis, double scale,
                                View y) {
  const std::int64_t rows = old.shape()[0], cols = old.shape()[1];
  const bool in_row = axis == GroupAxis::kWithinRow;
  const std::int64_t stride = in_row ? 1 : cols;
  for (std::int64_t row = 0; row < rows; row += in_row ? 1 : 4) {
    for (std::int64_t col = 0; col < cols; col += in_row ? 4 : 1) {
      const std::int64_t at = row * cols + col;
      project_group(old.as<float>() + at, fresh.as<float>() + at, stride, static_cast<float>(scale),
                    y.as<float>() + at);
    }
  }
}

}  // namespace twill
