// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tensor/tensor.h"

namespace twill::cpu {

// What kept_gradient works in. A queue keeps it; it grows to the largest call of the first step and
// is not allocated again.
class KeptScratch {
 public:
  enum Use { kInputPanels, kRowPanels, kTasks, kCells, kRuns, kOffsets, kSums, kFinished, kUses };

  // `count` elements, 64-byte aligned; what they held is lost.
  template <class T>
  T* take(Use use, std::int64_t count) {
    Tensor& kept = memory_[static_cast<std::size_t>(use)];
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    if (!kept.view() || kept.view().num_bytes() < bytes) {
      { const Tensor given_back = std::move(kept); }  // before more is taken
      kept = Tensor(DType::kU8, {bytes});
    }
    return reinterpret_cast<T*>(kept.view().bytes());
  }

 private:
  std::array<Tensor, kUses> memory_;
};

}  // namespace twill::cpu
