// SPDX-License-Identifier: Apache-2.0
// Element-wise loops over values with a mask of one byte per element, 0 or 1.
#pragma once

#include <cstdint>

namespace twill::cpu {

// y[i] = mask[i] or columns[i] ? x[i] : 0. `columns` may be nullptr, y may be x.
void keep_masked(const float* x, const std::uint8_t* mask, const std::uint8_t* columns, float* y,
                 std::int64_t n);

// Number of i with a[i] != b[i].
std::int64_t count_different(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n);

// target[i] = scale target[i] (+ rate weight[i] where mask[i] is 0), each step rounded.
struct DecayRange {
  float* target;
  const float* weight;
  const std::uint8_t* mask;
  float scale;
  float rate;
};
void decay_masked(const DecayRange& range, std::int64_t n);

}  // namespace twill::cpu
