// SPDX-License-Identifier: Apache-2.0
#include "measure/random_fill.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/bf16.h"
#include "base/rng.h"
#include "ops/transfer.h"
#include "support/fake_device.h"

namespace twill {
namespace {

float drawn(std::uint64_t stream, std::uint64_t index) {
  const Philox4 bits = random_bits(stream, Purpose::kTest, 0, index);
  return normal_float(bits[0], bits[1]);
}

TEST(RandomFill, NormalNumbersAreThoseOfTheirStream) {
  const Context context(cpu_table(), 1);
  const Tensor wide = normal_matrix(context, DType::kF32, {3, 5}, 7);
  const Tensor narrow = normal_matrix(context, DType::kBf16, {3, 5}, 7);
  for (std::int64_t i = 0; i < 15; ++i) {
    const float value = drawn(7, static_cast<std::uint64_t>(i));
    EXPECT_EQ(wide.view().as<float>()[i], value);
    EXPECT_EQ(to_float(narrow.view().as<Bf16>()[i]), to_float(to_bf16(value)));
  }
}

// The host draws slowly: behind 2^20 numbers they begin again, also inside a last short piece.
TEST(RandomFill, NormalNumbersRepeat) {
  constexpr std::int64_t kDrawn = 1 << 20;
  const Context context(cpu_table(), 1);
  const Tensor tensor = normal_matrix(context, DType::kF32, {kDrawn + 3}, 1);
  const float* values = tensor.view().as<float>();
  EXPECT_TRUE(std::equal(values, values + 3, values + kDrawn));
  EXPECT_NE(values[0], values[1]);
}

TEST(RandomFill, UniformNumbersLieAroundZero) {
  const Context context(cpu_table(), 1);
  const Tensor tensor = uniform_matrix(context, 100, 101, 3);
  const float* values = tensor.view().as<float>();
  double sum = 0.0;
  for (std::int64_t i = 0; i < 10100; ++i) {
    ASSERT_GE(values[i], -1.0f);
    ASSERT_LT(values[i], 1.0f);
    sum += values[i];
  }
  // The mean of 10,100 of variance 1/3 has a deviation of 0.0057: five of them.
  EXPECT_LT(std::abs(sum / 10100.0), 0.029);
  EXPECT_NE(values[0], uniform_matrix(context, 1, 1, 4).view().as<float>()[0]);
}

TEST(RandomFill, ReachesTheMemoryOfADevice) {
  const KernelTable table = fake_device_table();
  const Context device(table, 1), host(cpu_table(), 1);
  const Tensor there = normal_matrix(device, DType::kF32, {2, 9}, 5);
  const Tensor here = normal_matrix(host, DType::kF32, {2, 9}, 5);
  EXPECT_EQ(host_floats(device, there.view()), host_floats(host, here.view()));
}

}  // namespace
}  // namespace twill
