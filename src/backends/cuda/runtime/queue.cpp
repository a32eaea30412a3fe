// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/runtime/queue.h"

#include "backends/cuda/runtime/check.h"

namespace twill::cuda {

CudaQueue::CudaQueue(const Device& device) {
  TWILL_CUDA_CHECK(cudaSetDevice(device.index));
  TWILL_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

CudaQueue::~CudaQueue() {
  static_cast<void>(cudaStreamSynchronize(stream_));
  products.reset();
  rotary.reset();
  reduction.reset();
  static_cast<void>(cudaStreamDestroy(stream_));
}

}  // namespace twill::cuda
