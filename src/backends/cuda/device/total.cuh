// SPDX-License-Identifier: Apache-2.0
// Σ x[i] or Σ x[i]² in f64, one number per block: out[block] (+)= scale Σ over the block's part.
// Threads take 16-byte pieces in turn, four in flight, and keep a sum per place in the piece:
// independent f64 sums that hide their latency. Conversions to f64 (16 a clock and SM) are the next
// limit behind memory: 64 bytes of f32 or 32 of bf16 a clock, where memory gives 18.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/vec.cuh"

namespace twill::cuda {

inline constexpr int kTotalThreads = 256;
inline constexpr int kPacksInFlight = 4;
inline constexpr int kTotalBlocksPerSm = 4;  // 64 KB in flight on an SM

__device__ __forceinline__ double to_f64(double x) { return x; }
__device__ __forceinline__ double to_f64(float x) { return static_cast<double>(x); }
__device__ __forceinline__ double to_f64(__nv_bfloat16 x) { return to_f64(to_f32(x)); }

// Squares of f32 are exact in f64.
template <bool kSquares, class T>
__device__ __forceinline__ void add_to(double& sum, T x) {
  const double value = to_f64(x);
  if constexpr (kSquares)
    sum += value * value;
  else
    sum += value;
}

// Element by element where 16-byte accesses do not fit: the same pieces, so the same order.
template <bool kAligned, class T>
__device__ __forceinline__ Pack<T, kVec<T>> load_pack(const T* from) {
  if constexpr (kAligned) {
    return *reinterpret_cast<const Pack<T, kVec<T>>*>(from);
  } else {
    Pack<T, kVec<T>> pack;
#pragma unroll
    for (int i = 0; i < kVec<T>; ++i) pack.at[i] = from[i];
    return pack;
  }
}

template <class T, bool kSquares, bool kAligned>
__global__ __launch_bounds__(kTotalThreads,
                             kTotalBlocksPerSm) void total_kernel(const T* __restrict__ x,
                                                                  std::int64_t count, double scale,
                                                                  bool accumulate, double* out) {
  constexpr int kN = kVec<T>;
  const std::int64_t num_packs = count / kN;
  const std::int64_t stride = std::int64_t{gridDim.x} * kTotalThreads;
  const std::int64_t thread = std::int64_t{blockIdx.x} * kTotalThreads + threadIdx.x;

  double sums[kN] = {};
  const auto add = [&](const Pack<T, kN>& pack) {
#pragma unroll
    for (int i = 0; i < kN; ++i) add_to<kSquares>(sums[i], pack.at[i]);
  };
  std::int64_t pack = thread;
  for (; pack + (kPacksInFlight - 1) * stride < num_packs; pack += kPacksInFlight * stride) {
    Pack<T, kN> packs[kPacksInFlight];
#pragma unroll
    for (int p = 0; p < kPacksInFlight; ++p)
      packs[p] = load_pack<kAligned>(x + (pack + p * stride) * kN);
#pragma unroll
    for (int p = 0; p < kPacksInFlight; ++p) add(packs[p]);
  }
  for (; pack < num_packs; pack += stride) add(load_pack<kAligned>(x + pack * kN));
  // What is left behind the last piece: fewer than kN elements.
  if (num_packs * kN + thread < count) add_to<kSquares>(sums[0], x[num_packs * kN + thread]);

  double sum = 0.0;
#pragma unroll
  for (int i = 0; i < kN; ++i) sum += sums[i];
  sum = block_sum<kTotalThreads>(sum);
  if (threadIdx.x > 0) return;
  out[blockIdx.x] = accumulate ? out[blockIdx.x] + scale * sum : scale * sum;
}

}  // namespace twill::cuda
