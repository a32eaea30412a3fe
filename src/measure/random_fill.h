// SPDX-License-Identifier: Apache-2.0
// Operands for what is timed: random numbers by a counter, the same for everybody who names the same stream.
// f32 or bf16, in the backend's memory. From 2^20 on they repeat: the host draws slowly, and what they are
// does not matter, that they vary does.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace twill {

// Uniform in [-reach, reach).
void fill_uniform(const Context& context, View view, std::uint64_t stream, double reach = 1.0);
// Standard normal.
void fill_normal(const Context& context, View view, std::uint64_t stream);

// The same in new memory.
Tensor uniform_matrix(const Context& context, DType type, const Shape& shape, std::uint64_t stream);
Tensor normal_matrix(const Context& context, DType type, const Shape& shape, std::uint64_t stream);

// (outputs, inputs), f32: weights that make numbers of variance 1 out of uniform ones with reach 1. An
// activation and its slope are then as varied as in a model: numbers that are all 0 or 1 take less power,
// and time, to multiply.
Tensor uniform_weights(const Context& context, std::int64_t outputs, std::int64_t inputs,
                       std::uint64_t stream);

}  // namespace twill
