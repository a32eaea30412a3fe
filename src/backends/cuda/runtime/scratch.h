// SPDX-License-Identifier: Apache-2.0
// Device memory that a queue's state keeps and grows: partial sums, tables. It cannot grow while work
// is recorded; a step's first, unrecorded run has grown it. Outgrown memory stays until the end:
// recorded work may still use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cuda/runtime/queue.h"

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
  std::vector<std::byte*> blocks_;  // the last is the one in use
  std::int64_t bytes_ = 0;          // of it
};

// Partial sums of kernels that reduce over blocks: used up by the kernel behind, on the same stream.
std::byte* reduction_scratch(Queue& queue, std::int64_t bytes);

}  // namespace twill::cuda
