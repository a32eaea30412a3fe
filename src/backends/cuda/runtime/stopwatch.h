// SPDX-License-Identifier: Apache-2.0
// Times work on a stream by two events, good to half a microsecond. Waits for the work.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/runtime/check.h"

namespace twill::cuda {

class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    TWILL_CUDA_CHECK(cudaEventCreate(&begin_));
    TWILL_CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Stopwatch() {
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  template <class Body>
  double seconds(const Body& body) {
    TWILL_CUDA_CHECK(cudaEventRecord(begin_, stream_));
    body();
    TWILL_CUDA_CHECK(cudaEventRecord(end_, stream_));
    TWILL_CUDA_CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0.0f;
    TWILL_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace twill::cuda
