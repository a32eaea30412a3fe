// SPDX-License-Identifier: Apache-2.0
// The inner loops of V:2:M selection. Magnitudes are compared as integers: the bits of floats
// without a sign are ordered like the floats, and NaN is cut down to +Inf.
#pragma once

#include <cstdint>

namespace twill::cpu {

// sums[i] += |x[i]|.
void add_magnitudes(const float* x, float* sums, std::int64_t n);

// mask[i] = 1 for the two largest |x[i]| > 0 with live[i] = -1 of every window of m = 4, 8 or 16
// neighbours, of equal ones the first; 0 elsewhere. live[i] is 0 or -1. The last window may be cut.
void keep_two_in_windows(const float* x, const std::int32_t* live, std::uint8_t* mask,
                         std::int64_t n, std::int64_t m);

// The same down the columns of four rows, all of them live.
struct FourRows {
  const float* x[4];
  std::uint8_t* mask[4];
};
void keep_two_of_rows(const FourRows& rows, std::int64_t n);

}  // namespace twill::cpu
