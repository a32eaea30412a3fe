// SPDX-License-Identifier: Apache-2.0
// Law kExact of ops/selection/mvue24.h for two channels of bf16 at once, as they lie in a 32-bit word: the same
// kept positions and values as mvue_exact of mvue24_draw.cuh, in about half of its instructions.
//
// What bounds it is the pipe of minima, comparisons, selections and logic, which takes half as many
// lanes per cycle as sums and products do. So minima and maxima are taken of both channels at once and
// ignore signs by themselves; positions are counted in the mantissa of a float; and two questions that
// nearly always have the same answer are not asked for every group, but answered by running checks:
// whether a number is infinite or NaN, and whether a sum is so small (under 2^-101) that adding the
// smallest normal number to it changes more than a zero. Who finds a check failed asks mvue_exact.
#pragma once

#include <cuda_bf16.h>

#include "backends/cuda/device/selection/mvue24_draw.cuh"

namespace twill::cuda {

// The one of greater magnitude in each half, its sign that of the product; a NaN wins. Before sm_86 the
// same by integers, which order like magnitudes: compiled for sm_80, and run on no such GPU yet.
__device__ __forceinline__ unsigned larger_pair(unsigned a, unsigned b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860
  unsigned y;
  asm("max.NaN.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
#else
  return __vmaxu2(a & 0x7fff'7fffu, b & 0x7fff'7fffu) | ((a ^ b) & 0x8000'8000u);
#endif
}

// The one of smaller magnitude likewise; of a NaN and a number the number.
__device__ __forceinline__ unsigned smaller_pair(unsigned a, unsigned b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860
  unsigned y;
  asm("min.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
#else
  return __vminu2(a & 0x7fff'7fffu, b & 0x7fff'7fffu) | ((a ^ b) & 0x8000'8000u);
#endif
}

// Ones in every half that is not a zero of either sign.
__device__ __forceinline__ unsigned nonzero_pair(unsigned a) {
  return __hne2_mask(*reinterpret_cast<const __nv_bfloat162*>(&a), __nv_bfloat162(0.0f, 0.0f));
}

// Half c of a word of two bf16.
__device__ __forceinline__ float half_of(unsigned word, int c) {
  return __uint_as_float(c == 0 ? word << 16 : word & 0xffff'0000u);
}
// Its magnitude; the sign goes with whatever takes the result, at no cost.
__device__ __forceinline__ float half_size(unsigned word, int c) { return fabsf(half_of(word, c)); }

// Four positions of four bits each, one nibble after the other: counted from kIdlePositions on in the
// low bits of a float, whose sums run where minima do not.
struct CountedPositions {
  float sum = 8388608.0f + 0x4444;
  __device__ __forceinline__ void add_if(bool chosen, float amount) {
    if (chosen) sum = __fadd_rn(sum, amount);
  }
  __device__ __forceinline__ unsigned bits() const { return __float_as_uint(sum) & 0xffffu; }
};

// What a step of a group's first position adds to them; one of its second adds four times that.
__device__ __forceinline__ float step_of_first(int group) {
  return static_cast<float>(1 << 4 * group);
}

struct MvuePairChecks {
  unsigned top = 0;    // the largest magnitudes of both channels
  float small = 0.0f;  // not zero (or NaN) once a sum was too small or too large

  __device__ __forceinline__ bool failed() const {
    return (top & 0x7f80u) == 0x7f80u || (top & 0x7f80'0000u) == 0x7f80'0000u || !(small == 0.0f);
  }
};

// A group of four: tokens x0 to x3 of both channels, its step_of_first(), their uniform numbers. What
// is kept of it as two pairs in order; its positions go into `positions`.
__device__ __forceinline__ uint2 mvue_pair(unsigned x0, unsigned x1, unsigned x2, unsigned x3,
                                           float first_step, const float (&uniform)[2],
                                           CountedPositions (&positions)[2],
                                           MvuePairChecks& checks) {
  const unsigned low01 = smaller_pair(x0, x1), high01 = larger_pair(x0, x1);
  const unsigned low23 = smaller_pair(x2, x3), high23 = larger_pair(x2, x3);
  const unsigned middle = smaller_pair(high01, high23), top = larger_pair(high01, high23);
  checks.top = larger_pair(checks.top, top);

  float h[2];
  unsigned first[2], second[2];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    const float rest =
        __fadd_rn(__fadd_rn(half_size(low01, c), half_size(low23, c)), half_size(middle, c));
    const float cap = __fadd_rn(rest, 0x1p-126f);
    checks.small = __fmaf_rn(__fmul_rn(__fsub_rn(cap, rest), 0x1p126f), rest, checks.small);
    h[c] = __fmul_rn(__fadd_rn(rest, fminf(half_size(top, c), cap)), 0.5f);
    const float c0 = fminf(half_size(x0, c), cap);
    const float c1 = __fadd_rn(c0, fminf(half_size(x1, c), cap));
    const float c2 = __fadd_rn(c1, fminf(half_size(x2, c), cap));
    const float t1 = __fmul_rn(uniform[c], h[c]), t2 = __fadd_rn(t1, h[c]);
    // The contract's j is 3, 2 or 1, and i one of 2, 1, 0 that is less.
    const bool j3 = c2 <= t2, j2 = c1 <= t2;
    const bool i2 = c1 <= t1 && j3, i1 = c0 <= t1 && j2;
    first[c] = i2 ? x2 : i1 ? x1 : x0;
    second[c] = j3 ? x3 : j2 ? x2 : x1;
    positions[c].add_if(i1, first_step);
    positions[c].add_if(i2, first_step);
    positions[c].add_if(j2, 4.0f * first_step);
    positions[c].add_if(j3, 4.0f * first_step);
  }
  // Rounding keeps order and leaves a bf16 as it is: the larger of |x| and h may be taken behind it.
  const __nv_bfloat162 rounded = __floats2bfloat162_rn(h[0], h[1]);
  const unsigned size = *reinterpret_cast<const unsigned*>(&rounded);
  const auto kept = [&](const unsigned(&x)[2]) {
    const unsigned pair = __byte_perm(x[0], x[1], 0x7610);
    return larger_pair(pair, size) & nonzero_pair(pair);
  };
  return make_uint2(kept(first), kept(second));
}

}  // namespace twill::cuda
