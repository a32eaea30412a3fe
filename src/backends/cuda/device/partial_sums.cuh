// SPDX-License-Identifier: Apache-2.0
// The second stage of sums over rows: partials (count, width) -> Σ over count. A block takes eight
// columns, one 32-byte sector of a row, so that already 1536 columns give work to every SM; its 32
// groups of eight threads share the rows and meet by shuffles and in shared memory.
//
// The partials were written just before and come from L2: bound by its latency, hence eight loads
// in flight per thread. The 396 partials of a backward norm on 132 SMs are 13 loads.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"

namespace twill::cuda {

// Where the sums go: columns below `split` to first[column], the others to second[column - split].
struct ColumnSums {
  float* first;
  float* second;
  std::int64_t split;
  bool accumulate;
};

inline constexpr int kSector = 8;  // f32 of 32 bytes

template <int kThreads>
__global__ __launch_bounds__(kThreads) void add_partials_kernel(const float* __restrict__ partials,
                                                                std::int64_t count,
                                                                std::int64_t width,
                                                                ColumnSums sums) {
  __shared__ float of_warps[kThreads / kWarp][kSector];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const std::int64_t column = std::int64_t{blockIdx.x} * kSector + thread % kSector;

  float sum = 0.0f;
  if (column < width) {
#pragma unroll 8
    for (std::int64_t row = thread / kSector; row < count; row += kThreads / kSector)
      sum += partials[row * width + column];
  }
#pragma unroll
  for (int apart = kSector; apart < kWarp; apart *= 2)
    sum += __shfl_xor_sync(0xffff'ffffu, sum, apart);
  if (lane < kSector) of_warps[thread / kWarp][lane] = sum;
  __syncthreads();
  if (thread >= kSector || column >= width) return;

  float total = 0.0f;
#pragma unroll
  for (int warp = 0; warp < kThreads / kWarp; ++warp) total += of_warps[warp][lane];
  float* out = column < sums.split ? sums.first + column : sums.second + (column - sums.split);
  *out = sums.accumulate ? *out + total : total;
}

}  // namespace twill::cuda
