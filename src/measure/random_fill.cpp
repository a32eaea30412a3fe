// SPDX-License-Identifier: Apache-2.0
#include "measure/random_fill.h"

#include <algorithm>
#include <cmath>

#include "base/bf16.h"
#include "base/check.h"
#include "base/rng.h"
#include "ops/transfer.h"

namespace twill {
namespace {

// Fills with number_of(bits) of counters 0, 1, … of the stream.
template <typename NumberOf>
void fill_repeated(const Context& context, View view, std::uint64_t stream, NumberOf number_of) {
  constexpr std::int64_t kDrawn = 1 << 20;
  const DType type = view.dtype();
  TWILL_CHECK(type == DType::kF32 || type == DType::kBf16, "drawn as f32 or bf16");
  const std::int64_t count = view.num_elements(), piece = std::min(kDrawn, count);
  Tensor drawn(type, {piece}, staging_memory(context));
  for (std::int64_t i = 0; i < piece; ++i) {
    const float value =
        number_of(random_bits(stream, Purpose::kTest, 0, static_cast<std::uint64_t>(i)));
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

}  // namespace

void fill_uniform(const Context& context, View view, std::uint64_t stream, double reach) {
  fill_repeated(context, view, stream, [reach](const Philox4& bits) {
    return static_cast<float>(reach) * (2.0f * unit_float(bits[0]) - 1.0f);
  });
}

void fill_normal(const Context& context, View view, std::uint64_t stream) {
  fill_repeated(context, view, stream,
                [](const Philox4& bits) { return normal_float(bits[0], bits[1]); });
}

Tensor uniform_matrix(const Context& context, DType type, const Shape& shape,
                      std::uint64_t stream) {
  Tensor tensor(type, shape, context.memory());
  fill_uniform(context, tensor.view(), stream);
  return tensor;
}

Tensor normal_matrix(const Context& context, DType type, const Shape& shape, std::uint64_t stream) {
  Tensor tensor(type, shape, context.memory());
  fill_normal(context, tensor.view(), stream);
  return tensor;
}

Tensor uniform_weights(const Context& context, std::int64_t outputs, std::int64_t inputs,
                       std::uint64_t stream) {
  Tensor weights(DType::kF32, {outputs, inputs}, context.memory());
  fill_uniform(context, weights.view(), stream, 3.0 / std::sqrt(static_cast<double>(inputs)));
  return weights;
}

}  // namespace twill
