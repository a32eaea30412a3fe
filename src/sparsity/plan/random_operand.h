// SPDX-License-Identifier: Apache-2.0
// Random numbers on a device, for layers that are timed.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace twill {

// Uniform in [-reach, reach), the same for the same stream; f32 or bf16, on the context's device.
Tensor random_matrix(const Context& context, std::int64_t rows, std::int64_t cols,
                     std::uint64_t stream, DType type, double reach = 1.0);
// Weights that make numbers of variance 1 out of such with reach 1. An activation and its slope are then as
// varied as in a model: numbers that are all 0 or 1 take less power, and time, to multiply.
Tensor random_weights(const Context& context, std::int64_t outputs, std::int64_t inputs,
                      std::uint64_t stream, DType type);

}  // namespace twill
