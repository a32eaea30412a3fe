// SPDX-License-Identifier: Apache-2.0
// The second stage of sums over rows: partials (count, width) -> Σ over count. A block takes eight
// columns, one 32-byte sector of a row, so that already 1536 columns give work to every SM; its 32
// groups of eight threads share the rows and meet by shuffles and in shared memory.
//
// The partials were written just before and come from L2: bound by its latency, hence eight loads
// in flight per thread. With one block of the first stage on each of 132 SMs there are five.
//
// Both stages overlap where the GPU can (sm_90): the first one lets this grid start early, which
// then waits for its results. That saves the time of a launch, some 2 us beside 12 for the column
// sum of 16384 x 1600 bf16.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"

namespace twill::cuda {

// For the first stage, where its rows are done: without effect unless the grid behind asks.
__device__ __forceinline__ void let_next_grid_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Until the grid before has ended and its writes are seen; without effect after a plain launch.
__device__ __forceinline__ void wait_for_grid_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

inline constexpr int kMaxSums = 3;

// Where the sums go: a row of partials is up to kMaxSums rows of `columns`, each with its own
// place, or none if nobody wants it.
struct ColumnSums {
  float* to[kMaxSums];
  std::int64_t columns;
  bool accumulate;
};

inline constexpr int kSector = 8;  // f32 of 32 bytes

// The loads go to L2, and none may move before the wait: hence no __restrict__.
template <int kThreads>
__global__ __launch_bounds__(kThreads) void add_partials_kernel(const float* partials,
                                                                std::int64_t count,
                                                                std::int64_t width,
                                                                ColumnSums sums) {
  __shared__ float of_warps[kThreads / kWarp][kSector];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const std::int64_t column = std::int64_t{blockIdx.x} * kSector + thread % kSector;
  float* out = nullptr;
#pragma unroll
  for (int k = 0; k < kMaxSums; ++k) {
    const std::int64_t at = column - k * sums.columns;
    if (column < width && at >= 0 && at < sums.columns && sums.to[k] != nullptr)
      out = sums.to[k] + at;
  }
  wait_for_grid_before();

  float sum = 0.0f;
  if (out != nullptr) {
#pragma unroll 8
    for (std::int64_t row = thread / kSector; row < count; row += kThreads / kSector)
      sum += __ldcg(partials + row * width + column);
  }
#pragma unroll
  for (int apart = kSector; apart < kWarp; apart *= 2)
    sum += __shfl_xor_sync(0xffff'ffffu, sum, apart);
  if (lane < kSector) of_warps[thread / kWarp][lane] = sum;
  __syncthreads();
  if (thread >= kSector || out == nullptr) return;

  float total = 0.0f;
#pragma unroll
  for (int warp = 0; warp < kThreads / kWarp; ++warp) total += of_warps[warp][lane];
  *out = sums.accumulate ? *out + total : total;
}

}  // namespace twill::cuda
