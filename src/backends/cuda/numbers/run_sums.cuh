// SPDX-License-Identifier: Apache-2.0
// Launches device/run_sums.cuh.
#pragma once

#include <cstdint>

#include "backends/cuda/device/run_sums.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"

namespace twill::cuda {

// sums (kSums) f64 = what terms.add makes of elements 0 … count - 1. No element gives zeros.
template <int kSums, class Terms>
void sum_in_runs(const Terms& terms, std::int64_t count, const View& sums, Queue& queue) {
  const std::int64_t runs = ceil_div(count, kRun);
  auto* partials = reinterpret_cast<double*>(
      reduction_scratch(queue, kSums * runs * std::int64_t{sizeof(double)}));
  if (runs > 0) {
    const auto blocks = static_cast<unsigned>(ceil_div(runs, kRunThreads));
    run_sums_kernel<kSums>
        <<<blocks, kRunThreads, 0, stream_of(queue)>>>(terms, count, runs, partials);
    TWILL_CUDA_CHECK_LAUNCH();
  }
  add_runs_kernel<kSums>
      <<<1, kSums * kWarp, 0, stream_of(queue)>>>(partials, runs, pointer<double>(sums));
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace twill::cuda
