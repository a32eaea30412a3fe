// SPDX-License-Identifier: Apache-2.0
// 2:4 selection by magnitude, NaN as +Inf, lowest index first. Strides in elements; x and mask have
// the same layout.
#pragma once

#include <cstdint>

namespace twill::cpu {

// n / 4 groups of neighbours.
void select24_within_row(const float* x, std::uint8_t* mask, std::int64_t n);

// One group per column: four rows `stride` apart.
void select24_within_columns(const float* x, std::uint8_t* mask, std::int64_t stride,
                             std::int64_t cols);

// The best of the 90 patterns for each of cols / 4 blocks: four rows `stride` apart.
void best_transposable24(const float* x, std::uint8_t* mask, std::int64_t stride,
                         std::int64_t cols);
// The same with greedy keep.
void greedy_transposable24(const float* x, std::uint8_t* mask, std::int64_t stride,
                           std::int64_t cols);

}  // namespace twill::cpu
