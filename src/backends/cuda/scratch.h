// SPDX-License-Identifier: Apache-2.0
// Device memory that a queue's state keeps and grows: partial sums, tables. Growing waits for the
// device and cannot happen while work is recorded; a step's first, unrecorded run has grown it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/queue.h"

namespace twill::cuda {

class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // At least `bytes`, 256-byte aligned; contents undefined after growing.
  std::byte* at_least(std::int64_t bytes, const CudaQueue& queue);

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// Partial sums of kernels that reduce over blocks: used up by the kernel behind, on the same stream.
std::byte* reduction_scratch(Queue& queue, std::int64_t bytes);

}  // namespace twill::cuda
