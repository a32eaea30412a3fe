// SPDX-License-Identifier: Apache-2.0
// Groups of four (ops/selection/groups24.h): magnitudes as integers, what is kept of a group, its threshold.
#pragma once

#include <cstdint>

#include "backends/cuda/device/pieces.cuh"

namespace twill::cuda {

// |x| as an integer that orders like it, denormals included; NaN as +Inf.
__device__ __forceinline__ unsigned magnitude_bits(float x) {
  return min(__float_as_uint(x) & 0x7fff'ffffu, 0x7f80'0000u);
}

__device__ __forceinline__ bool two_of(bool a, bool b, bool c) {
  return (a && b) || (c && (a || b));
}

// Bit i: entry i is one of the two largest. An entry falls where two of the others beat it; of
// equal ones the earlier beats, so that six comparisons decide.
__device__ __forceinline__ unsigned keep_two(unsigned m0, unsigned m1, unsigned m2, unsigned m3) {
  const bool b10 = m1 > m0, b20 = m2 > m0, b30 = m3 > m0;
  const bool b21 = m2 > m1, b31 = m3 > m1, b32 = m3 > m2;
  return unsigned{!two_of(b10, b20, b30)} | unsigned{!two_of(!b10, b21, b31)} << 1 |
         unsigned{!two_of(!b20, !b21, b32)} << 2 | unsigned{two_of(b30, b31, b32)} << 3;
}

__device__ __forceinline__ unsigned keep_two(float x0, float x1, float x2, float x3) {
  return keep_two(magnitude_bits(x0), magnitude_bits(x1), magnitude_bits(x2), magnitude_bits(x3));
}

// t2 of ops/selection/soft_threshold24.h: the second smallest magnitude.
__device__ __forceinline__ float threshold_of(float x0, float x1, float x2, float x3) {
  const unsigned b0 = magnitude_bits(x0), b1 = magnitude_bits(x1);
  const unsigned b2 = magnitude_bits(x2), b3 = magnitude_bits(x3);
  return __uint_as_float(min(max(min(b0, b1), min(b2, b3)), min(max(b0, b1), max(b2, b3))));
}

// S(x), unscaled. A NaN is not below zero and stays.
__device__ __forceinline__ float softened(float x, float threshold) {
  const float rest = __fsub_rn(fabsf(x), threshold);
  return rest <= 0.0f ? 0.0f : copysignf(rest, x);
}

// A group whose entries become scale · S(x). Zeros are +0 under any scale.
__device__ __forceinline__ void soften_group(float& x0, float& x1, float& x2, float& x3,
                                             float scale) {
  const float threshold = threshold_of(x0, x1, x2, x3);
  const auto scaled = [&](float x) {
    const float soft = softened(x, threshold);
    return soft == 0.0f ? 0.0f : __fmul_rn(scale, soft);
  };
  x0 = scaled(x0), x1 = scaled(x1), x2 = scaled(x2), x3 = scaled(x3);
}

// Where four rows of V neighbouring columns begin: item of the (R / 4) (C / V) of a matrix.
template <int V>
__device__ __forceinline__ std::int64_t quad_rows_at(std::int64_t item, std::int64_t cols) {
  const Division place = divide(item, cols / V);
  return place.quotient * 4 * cols + place.rest * V;
}

}  // namespace twill::cuda
