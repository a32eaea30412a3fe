// SPDX-License-Identifier: Apache-2.0
// Running sums of integers in one block: exact, so any order gives the same bits.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"

namespace twill::cuda {

inline constexpr int kScanThreads = 1024;

// The sum of x over the threads up to this one; `total` is the sum over the block. kThreads is a
// multiple of 32, at most 1024; the block may call this again at once.
template <int kThreads, class T>
__device__ __forceinline__ T inclusive_scan(T x, T& total) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ T of_warps[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int apart = 1; apart < kWarp; apart *= 2) {
    const T before = __shfl_up_sync(0xffff'ffffu, x, apart);
    if (lane >= apart) x += before;
  }
  if (lane == kWarp - 1) of_warps[warp] = x;
  __syncthreads();
  T before = 0;
  total = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (w == warp) before = total;
    total += of_warps[w];
  }
  __syncthreads();
  return before + x;
}

// values[i] becomes the sum of the values before it, values[count] the sum of all. One block.
template <class T>
__global__ __launch_bounds__(kScanThreads) void exclusive_scan_kernel(T* values,
                                                                      std::int64_t count) {
  T carried = 0;
  for (std::int64_t first = 0; first < count; first += kScanThreads) {
    const std::int64_t i = first + threadIdx.x;
    const T own = i < count ? values[i] : T{0};
    T total;
    const T upto = inclusive_scan<kScanThreads>(own, total);
    if (i < count) values[i] = carried + upto - own;
    carried += total;
  }
  if (threadIdx.x == 0) values[count] = carried;
}

}  // namespace twill::cuda
