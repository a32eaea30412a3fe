// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

namespace twill {
namespace {

std::int64_t misalignment(const ConstView& view) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.bytes()) % 64);
}

TEST(Tensor, StartsAlignedAndZero) {
  for (const std::int64_t count : {1, 3, 1000, 1 << 20}) {
    Tensor tensor(DType::kF32, {count});
    const View view = tensor.view();
    EXPECT_EQ(misalignment(view), 0);
    EXPECT_EQ(view.shape(), Shape{count});
    EXPECT_TRUE(
        std::all_of(view.as<float>(), view.as<float>() + count, [](float v) { return v == 0.0f; }));
  }
}

TEST(Tensor, MayBeEmpty) {
  Tensor tensor(DType::kF64, {0, 4});
  EXPECT_EQ(tensor.view().num_elements(), 0);
  EXPECT_EQ(Tensor().view().bytes(), nullptr);
}

TEST(Tensor, MovesItsMemory) {
  Tensor first(DType::kF32, {4});
  float* data = first.view().as<float>();
  data[2] = 7.0f;
  Tensor second = std::move(first);
  EXPECT_EQ(second.view().as<float>(), data);
  EXPECT_FALSE(first.view());  // NOLINT(bugprone-use-after-move): empty is promised
  Tensor third(DType::kF32, {2});
  third = std::move(second);
  EXPECT_EQ(std::as_const(third).view().as<float>()[2], 7.0f);
}

// Counts what is taken and given back.
std::int64_t bytes_held = 0;
const Memory kCounting{
    [](std::int64_t bytes) { return bytes_held += bytes, host_memory().allocate(bytes); },
    [](std::byte* data, std::int64_t bytes) {
      bytes_held -= data != nullptr ? bytes : 0;
      host_memory().release(data, bytes);
    }};

TEST(Tensor, ReturnsItsMemory) {
  {
    Tensor first(DType::kF32, {10}, kCounting), second(DType::kF64, {3}, kCounting);
    EXPECT_EQ(bytes_held, 64);
    Tensor moved = std::move(first);
    second = std::move(moved);
    EXPECT_EQ(bytes_held, 64);
  }
  EXPECT_EQ(bytes_held, 0);
}

}  // namespace
}  // namespace twill
