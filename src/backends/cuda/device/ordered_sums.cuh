// SPDX-License-Identifier: Apache-2.0
// Sums of f64 whose order a contract fixes: out[k] = Σ values[i, k], from the first i to the last.
// One block: a thread per column adds, from shared memory, while the other warps bring the next
// piece. A chain of additions cannot be cut: about 10 cycles each, 0.25 ms for 40,000.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"

namespace twill::cuda {

inline constexpr int kOrderedThreads = 256;

// values (count, kColumns).
template <int kColumns>
__global__ __launch_bounds__(kOrderedThreads) void ordered_sums_kernel(
    const double* __restrict__ values, std::int64_t count, double* out) {
  constexpr int kPiece = 512;
  __shared__ double pieces[2][kPiece * kColumns];
  const int thread = static_cast<int>(threadIdx.x);
  // By all warps but the first.
  const auto bring = [&](std::int64_t first) {
    double* piece = pieces[first / kPiece % 2];
    for (int i = thread - kWarp; i < kPiece * kColumns; i += kOrderedThreads - kWarp)
      if (i >= 0 && first * kColumns + i < count * kColumns)
        piece[i] = values[first * kColumns + i];
  };

  if (thread >= kWarp) bring(0);
  double sum = 0.0;
  for (std::int64_t first = 0; first < count; first += kPiece) {
    __syncthreads();
    if (thread >= kWarp) bring(first + kPiece);
    if (thread < kColumns) {
      const double* piece = pieces[first / kPiece % 2];
      const int rows = static_cast<int>(min(count - first, std::int64_t{kPiece}));
#pragma unroll 8
      for (int i = 0; i < rows; ++i) sum += piece[i * kColumns + thread];
    }
  }
  if (thread < kColumns) out[thread] = sum;
}

}  // namespace twill::cuda
