// SPDX-License-Identifier: Apache-2.0
// Loops that throw information away, each bit of them owed: the soft threshold of S-STE, the MVUE
// sample of a gradient, rounding to FP8.
#pragma once

#include <cstdint>

namespace twill::cpu {

// y = scale · S(x) of `count` elements, groups of four neighbours; count % 4 == 0. y may be x.
void soft_threshold24_row(const float* x, float* y, float scale, std::int64_t count);
// The same of four rows `stride` apart and `count` long, groups of the four at one column.
void soft_threshold24_columns(const float* x, float* y, float scale, std::int64_t stride,
                              std::int64_t count);

// MVUE of tokens [16 block, 16 block + 16) below `tokens`, by the law kExact.
struct MvueBlock {
  const float* x;  // (tokens, channels)
  float* y;
  std::uint8_t* mask;  // nullptr when absent
  std::int64_t tokens;
  std::int64_t channels;
  std::int64_t first_block;  // of the draws: Mvue24Args::first_token
  std::uint64_t seed;
  std::uint32_t step;
  std::uint32_t tag;  // purpose and stream
};
void mvue24_block(const MvueBlock& problem, std::int64_t block);

// The largest bits of |x|: of the largest magnitude, or above every finite number's.
std::uint32_t largest_bits(const float* x, std::int64_t count);

// y = q(x s) / s; all finite.
struct Fp8Rounding {
  float scale;
  float max;
  int fraction_bits;
  float min_normal;
  float last_bit;  // its last bit is worth the format's smallest number
};
void fp8_round_range(const Fp8Rounding& rounding, const float* x, float* y, std::int64_t count);

}  // namespace twill::cpu
