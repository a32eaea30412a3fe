// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "tensor/tensor.h"

namespace twill::cpu {

// Panels of the products with packed matrices, one per thread. A queue keeps them; they grow to the
// largest product of the first step and are not allocated again.
class PackedScratch {
 public:
  // `count` floats, 64-byte aligned; what they held is lost.
  float* take(std::int64_t count) {
    if (!memory_.view() || memory_.view().num_elements() < count) {
      { const Tensor given_back = std::move(memory_); }  // before more is taken
      memory_ = Tensor(DType::kF32, {count});
    }
    return memory_.view().as<float>();
  }

 private:
  Tensor memory_;
};

}  // namespace twill::cpu
