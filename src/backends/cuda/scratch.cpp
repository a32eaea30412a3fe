// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/scratch.h"

#include <algorithm>

#include "backends/cuda/check.h"
#include "base/check.h"

namespace twill::cuda {
namespace {

// More than the partial sums of any model's shapes (9 MB for norms of 8192 columns on 132 SMs), so
// that nothing grows later: recorded work would be left with the old address.
constexpr std::int64_t kFirstReductionBytes = 16 << 20;

struct Reduction final : QueueState {
  Scratch partials;
};

}  // namespace

// Waits for the work that still uses the memory; an error has nowhere to go from here.
Scratch::~Scratch() { static_cast<void>(cudaFree(data_)); }

std::byte* Scratch::at_least(std::int64_t bytes, const CudaQueue& queue) {
  if (bytes <= bytes_) return data_;
  TWILL_CHECK(!queue.is_recording(), "scratch grows before work is recorded");
  TWILL_CUDA_CHECK(cudaStreamSynchronize(queue.stream()));
  TWILL_CUDA_CHECK(cudaFree(data_));
  data_ = nullptr;
  bytes_ = 0;
  void* grown = nullptr;
  TWILL_CUDA_CHECK(cudaMalloc(&grown, static_cast<std::size_t>(bytes)));  // 256-byte aligned
  data_ = static_cast<std::byte*>(grown);
  bytes_ = bytes;
  return data_;
}

std::byte* reduction_scratch(Queue& queue, std::int64_t bytes) {
  CudaQueue& owner = cuda_queue(queue);
  auto& reduction = state_of<Reduction>(owner.reduction);
  return reduction.partials.at_least(std::max(bytes, kFirstReductionBytes), owner);
}

}  // namespace twill::cuda
