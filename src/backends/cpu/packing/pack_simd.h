// SPDX-License-Identifier: Apache-2.0
// The inner loops of packing (packed_format.h) in SIMD.
#pragma once

#include <cstdint>

namespace twill::cpu {

// Number of x[i] that are not 0.
std::int64_t count_kept_floats(const float* x, std::int64_t n);

// sets[c] = the set of rows whose x[row, c] is not 0, bit by bit, for 1 to 4 rows.
void find_sets(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols,
               std::uint8_t* sets);

// counts[s] = number of c < cols with sets[c] == s, for the sets 1 to 15; counts[0] is 0. Reads up
// to kSetPadding bytes behind the last set, which must be there and be 0.
constexpr std::int64_t kSetPadding = 64;
void count_sets(const std::uint8_t* sets, std::int64_t cols, std::uint16_t (&counts)[16]);

}  // namespace twill::cpu
