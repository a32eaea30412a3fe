// SPDX-License-Identifier: Apache-2.0
// Operands for what is timed: random numbers by a counter, the same for everybody who names the same stream.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace twill {

// Uniform in [-1, 1), f32, in the backend's memory.
Tensor uniform_matrix(const Context& context, std::int64_t rows, std::int64_t cols,
                      std::uint64_t stream);

// Standard normal numbers, f32 or bf16; from 2^20 on they repeat, because the host draws slowly.
void fill_normal(const Context& context, View view, std::uint64_t stream);
// The same in new memory of the backend.
Tensor normal_matrix(const Context& context, DType type, const Shape& shape, std::uint64_t stream);

}  // namespace twill
