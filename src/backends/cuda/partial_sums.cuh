// SPDX-License-Identifier: Apache-2.0
// Launches the second stage of a sum over rows (device/partial_sums.cuh).
#pragma once

#include <cstdint>

#include "backends/cuda/check.h"
#include "backends/cuda/device/partial_sums.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/queue.h"

namespace twill::cuda {

// `width` must not be zero.
inline void add_partials(const float* partials, std::int64_t count, std::int64_t width,
                         const ColumnSums& sums, Queue& queue) {
  constexpr int kThreads = 256;
  const auto blocks = static_cast<unsigned>(ceil_div(width, kSector));
  add_partials_kernel<kThreads>
      <<<blocks, kThreads, 0, stream_of(queue)>>>(partials, count, width, sums);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace twill::cuda
