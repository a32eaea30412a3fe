// SPDX-License-Identifier: Apache-2.0
// Scratch of rounded_cpu_table() (ops/kernel_table.h): the cpu backend with every operand of a
// product rounded to bf16 on the way in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/tensor.h"

namespace twill::cpu {

// Rounded copies of the operands of one call. A queue keeps them; they grow to the largest operands
// of the first step and are not allocated again.
class RoundedOperands {
 public:
  static constexpr std::size_t kSlots = 5;  // a, b, bias; q, k, v, out, dout

  // `count` floats, 64-byte aligned; what they held is lost.
  float* slot(std::size_t index, std::int64_t count);

 private:
  std::array<Tensor, kSlots> slots_;
};

}  // namespace twill::cpu
