// SPDX-License-Identifier: Apache-2.0
// The two laws of ops/selection/mvue24.h for one group of four, with the same roundings: products and sums
// name theirs, so that none is fused.
#pragma once

#include <cstdint>

#include "backends/cuda/device/selection/groups24.cuh"

namespace twill::cuda {

// (word >> 9) 2^-23, without the slow conversion: 23 bits behind the point of a number in [1, 2).
__device__ __forceinline__ float mvue_uniform(std::uint32_t word) {
  return __fsub_rn(__uint_as_float(0x3f80'0000u | word >> 9), 1.0f);
}

// The group as it is where bit k of `kept` is set, else zero.
__device__ __forceinline__ unsigned mvue_unchanged(const float (&x)[4], unsigned kept,
                                                   float (&y)[4]) {
#pragma unroll
  for (int k = 0; k < 4; ++k) y[k] = kept >> k & 1u ? x[k] : 0.0f;
  return kept;
}

// Law kExact. Bit k of the result: position k is kept. Magnitudes are compared as integers, which
// order like them and keep a NaN that a floating-point maximum would drop.
__device__ __forceinline__ unsigned mvue_exact(const float (&x)[4], float u, float (&y)[4]) {
  unsigned b[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) b[k] = __float_as_uint(x[k]) & 0x7fff'ffffu;
  const unsigned low01 = min(b[0], b[1]), high01 = max(b[0], b[1]);
  const unsigned low23 = min(b[2], b[3]), high23 = max(b[2], b[3]);
  const unsigned top = max(high01, high23);
  if (top >= 0x7f80'0000u) return mvue_unchanged(x, keep_two(x[0], x[1], x[2], x[3]), y);

  const float rest = __fadd_rn(__fadd_rn(__uint_as_float(low01), __uint_as_float(low23)),
                               __uint_as_float(min(high01, high23)));
  constexpr unsigned kSmallestNormal = 0x0080'0000u;
  const unsigned cap = rest == 0.0f ? kSmallestNormal : __float_as_uint(rest);
  const float h = __fmul_rn(__fadd_rn(rest, __uint_as_float(min(top, cap))), 0.5f);
  const float c0 = __uint_as_float(min(b[0], cap));
  const float c1 = __fadd_rn(c0, __uint_as_float(min(b[1], cap)));
  const float c2 = __fadd_rn(c1, __uint_as_float(min(b[2], cap)));
  const float t1 = __fmul_rn(u, h), t2 = __fadd_rn(t1, h);

  // The contract's i and j, told by position. c0 <= c1 <= c2 and t1 <= t2, so that first2 implies
  // first1 and second2, second3 implies second2; with a NaN (0 · Inf) all are false, there as here.
  const bool first1 = c0 <= t1, first2 = c1 <= t1;
  const bool second2 = c1 <= t2, second3 = c2 <= t2;
  const bool kept[4] = {!first1 || !second2,
                        !second2 || (first1 && !first2) || (first2 && !second3),
                        (second2 && !second3) || (first2 && second3), second3};
  unsigned bits = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    // Bits of floats that are not negative order like them; h is none below zero and no NaN here.
    const unsigned size = max(b[k], __float_as_uint(h));
    const unsigned sign = __float_as_uint(x[k]) & 0x8000'0000u;
    y[k] = kept[k] && b[k] != 0 ? __uint_as_float(size | sign) : 0.0f;
    bits |= unsigned{kept[k]} << k;
  }
  return bits;
}

// The first position but `without` at which the running sum of b passes `target`, else the last one
// that is not zero.
__device__ __forceinline__ int mvue_position(const double (&b)[4], double target, int without) {
  double sums[4], sum = 0.0;
  int found = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const double size = k == without ? 0.0 : b[k];
    sums[k] = sum = __dadd_rn(sum, size);
    found = size > 0.0 ? k : found;
  }
#pragma unroll
  for (int k = 3; k >= 0; --k) found = target < sums[k] ? k : found;
  return found;
}

// Law kTwoDraw.
__device__ __forceinline__ unsigned mvue_two_draw(const float (&x)[4], double u, double u2,
                                                  float (&y)[4]) {
  bool finite = true;
  double b[4], others[4], odds[4];
  int num_nonzero = 0, last = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    finite = finite && (__float_as_uint(x[k]) & 0x7fff'ffffu) < 0x7f80'0000u;
    b[k] = fabs(static_cast<double>(x[k]));
    num_nonzero += b[k] > 0.0 ? 1 : 0;
    last = b[k] > 0.0 ? k : last;
  }
  if (!finite) return mvue_unchanged(x, keep_two(x[0], x[1], x[2], x[3]), y);
  if (num_nonzero < 2) return mvue_unchanged(x, 1u << last | (last == 0 ? 2u : 1u), y);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    others[k] = 0.0;
#pragma unroll
    for (int other = 0; other < 4; ++other)
      if (other != k) others[k] = __dadd_rn(others[k], b[other]);
    odds[k] = __ddiv_rn(b[k], others[k]);
  }
  const double total = __dadd_rn(__dadd_rn(__dadd_rn(b[0], b[1]), b[2]), b[3]);
  const int i = mvue_position(b, __dmul_rn(u, total), -1);
  double rest = others[0];
#pragma unroll
  for (int k = 1; k < 4; ++k) rest = k == i ? others[k] : rest;
  const int j = mvue_position(b, __dmul_rn(u2, rest), i);

  const unsigned kept = 1u << i | 1u << j;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    y[k] = 0.0f;
    if ((kept >> k & 1u) == 0) continue;
    double sum = 0.0;
#pragma unroll
    for (int other = 0; other < 4; ++other)
      if (other != k) sum = __dadd_rn(sum, odds[other]);
    const double inclusion = __dmul_rn(__ddiv_rn(b[k], total), __dadd_rn(1.0, sum));
    y[k] = __double2float_rn(__ddiv_rn(static_cast<double>(x[k]), inclusion));
  }
  return kept;
}

}  // namespace twill::cuda
