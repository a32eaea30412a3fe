// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over a warp and a block, in a fixed order: the same bits in every run.
#pragma once

namespace twill::cuda {

inline constexpr int kWarp = 32;

// Over the whole warp, or over aligned groups of kLanes threads of it.
template <int kLanes = kWarp, class T>
__device__ __forceinline__ T warp_sum(T x) {
#pragma unroll
  for (int lane = kLanes / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffff'ffffu, x, lane);
  return x;
}

template <int kLanes = kWarp>
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int lane = kLanes / 2; lane > 0; lane /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffff'ffffu, x, lane));
  return x;
}

// The sum over all threads of the block, known to all of them. kThreads is a multiple of 32; the
// block may call this again at once.
template <int kThreads, class T>
__device__ __forceinline__ T block_sum(T x) {
  __shared__ T partial[kThreads / kWarp];
  x = warp_sum(x);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = x;
  __syncthreads();
  T total = 0;
#pragma unroll
  for (int warp = 0; warp < kThreads / kWarp; ++warp) total += partial[warp];
  __syncthreads();
  return total;
}

template <int kThreads>
__device__ __forceinline__ float block_max(float x) {
  __shared__ float partial[kThreads / kWarp];
  x = warp_max(x);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = x;
  __syncthreads();
  float total = partial[0];
#pragma unroll
  for (int warp = 1; warp < kThreads / kWarp; ++warp) total = fmaxf(total, partial[warp]);
  __syncthreads();
  return total;
}

}  // namespace twill::cuda
