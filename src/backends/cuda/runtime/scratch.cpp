// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/runtime/scratch.h"

#include <algorithm>

#include "backends/cuda/runtime/check.h"
#include "base/check.h"

namespace twill::cuda {
namespace {

// More than the partial sums of most steps (13 MB for norms of 8192 columns on 132 SMs). It grows for
// norms of rows that are not aligned (30 MB at 1601 columns), for sums over masks of the largest
// matrices and for sums of biases that come with packed samples (26 MB at 65536 tokens of 6400
// channels); in the first step, and beside the memory table.
constexpr std::int64_t kFirstReductionBytes = 16 << 20;

struct Reduction final : QueueState {
  Scratch partials;
};

}  // namespace

// Waits for the work that still uses the memory; an error has nowhere to go from here.
Scratch::~Scratch() {
  for (std::byte* block : blocks_) static_cast<void>(cudaFree(block));
}

std::byte* Scratch::at_least(std::int64_t bytes, const CudaQueue& queue) {
  if (bytes <= bytes_) return blocks_.back();
  TWILL_CHECK(!queue.is_recording(), "scratch grows before work is recorded");
  void* grown = nullptr;
  TWILL_CUDA_CHECK(cudaMalloc(&grown, static_cast<std::size_t>(bytes)));  // 256-byte aligned
  blocks_.push_back(static_cast<std::byte*>(grown));
  bytes_ = bytes;
  return blocks_.back();
}

std::byte* reduction_scratch(Queue& queue, std::int64_t bytes) {
  CudaQueue& owner = cuda_queue(queue);
  auto& reduction = state_of<Reduction>(owner.reduction);
  return reduction.partials.at_least(std::max(bytes, kFirstReductionBytes), owner);
}

}  // namespace twill::cuda
