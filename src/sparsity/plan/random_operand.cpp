// SPDX-License-Identifier: Apache-2.0
#include "sparsity/plan/random_operand.h"

#include <cmath>

#include "base/rng.h"
#include "ops/numbers/cast.h"
#include "ops/transfer.h"

namespace twill {
namespace {

constexpr std::int64_t kRandomValues = std::int64_t{1} << 20;

}  // namespace

Tensor random_matrix(const Context& context, std::int64_t rows, std::int64_t cols,
                     std::uint64_t stream, DType type, double reach) {
  if (rows * cols == 0) return Tensor(type, {rows, cols}, context.memory());
  Tensor wide(DType::kF32, {rows, cols}, host_memory());
  float* values = wide.view().as<float>();
  const std::int64_t size = rows * cols;
  for (std::int64_t i = 0; i < size; ++i) {
    if (i >= kRandomValues) {  // numbers repeat: what they are does not matter, that they vary does
      values[i] = values[i - kRandomValues];
      continue;
    }
    const Philox4 bits = random_bits(stream, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    values[i] = static_cast<float>(reach) * (2.0f * unit_float(bits[0]) - 1.0f);
  }
  Tensor there(DType::kF32, {rows, cols}, context.memory());
  copy_in(context, there.view(), values);
  if (type == DType::kF32) return there;
  Tensor narrow(type, {rows, cols}, context.memory());
  cast(context, {.x = there.view(), .y = narrow.view()});
  wait(context);
  return narrow;
}

Tensor random_weights(const Context& context, std::int64_t outputs, std::int64_t inputs,
                      std::uint64_t stream, DType type) {
  return random_matrix(context, outputs, inputs, stream, type,
                       3.0 / std::sqrt(static_cast<double>(inputs)));
}

}  // namespace twill
