// SPDX-License-Identifier: Apache-2.0
#include "measure/random_fill.h"

#include <algorithm>
#include <vector>

#include "base/bf16.h"
#include "base/check.h"
#include "base/rng.h"
#include "ops/transfer.h"

namespace twill {

Tensor uniform_matrix(const Context& context, std::int64_t rows, std::int64_t cols,
                      std::uint64_t stream) {
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const Philox4 bits = random_bits(stream, Purpose::kTest, 0, i / 4);
    for (std::size_t word = 0; word < 4 && i + word < values.size(); ++word)
      values[i + word] = 2.0f * unit_float(bits[word]) - 1.0f;
  }
  Tensor tensor(DType::kF32, {rows, cols}, context.memory());
  copy_in(context, tensor.view(), values.data());
  wait(context);
  return tensor;
}

void fill_normal(const Context& context, View view, std::uint64_t stream) {
  constexpr std::int64_t kDrawn = 1 << 20;
  const DType type = view.dtype();
  TWILL_CHECK(type == DType::kF32 || type == DType::kBf16, "drawn as f32 or bf16");
  const std::int64_t count = view.num_elements(), piece = std::min(kDrawn, count);
  Tensor drawn(type, {piece}, staging_memory(context));
  for (std::int64_t i = 0; i < piece; ++i) {
    const Philox4 bits = random_bits(stream, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    const float value = normal_float(bits[0], bits[1]);
    if (type == DType::kBf16) {
      drawn.view().as<Bf16>()[i] = to_bf16(value);
    } else {
      drawn.view().as<float>()[i] = value;
    }
  }
  for (std::int64_t begin = 0; begin < count; begin += piece)
    copy_in(context, view.slice(begin, std::min(piece, count - begin)), drawn.view().bytes());
  wait(context);  // the copies read `drawn`
}

Tensor normal_matrix(const Context& context, DType type, const Shape& shape, std::uint64_t stream) {
  Tensor tensor(type, shape, context.memory());
  fill_normal(context, tensor.view(), stream);
  return tensor;
}

}  // namespace twill
