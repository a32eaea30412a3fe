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

// Plans of this build are compared with those of others: both were timed on the same numbers.
TEST(RandomFill, UniformNumbersAreThoseOfTheirStreamAndReach) {
  const Context context(cpu_table(), 1);
  const Tensor wide = uniform_matrix(context, DType::kF32, {3, 5}, 7);
  const Tensor narrow = uniform_matrix(context, DType::kBf16, {3, 5}, 7);
  Tensor near(DType::kF32, {3, 5});
  fill_uniform(context, near.view(), 7, 0.25);
  for (std::int64_t i = 0; i < 15; ++i) {
    const Philox4 bits = random_bits(7, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    const float value = 2.0f * unit_float(bits[0]) - 1.0f;
    EXPECT_EQ(wide.view().as<float>()[i], value);
    EXPECT_EQ(to_float(narrow.view().as<Bf16>()[i]), to_float(to_bf16(value)));
    EXPECT_EQ(near.view().as<float>()[i], 0.25f * value);
  }
}

// The host draws slowly: behind 2^20 numbers they begin again, also inside a last short piece.
TEST(RandomFill, NumbersRepeat) {
  constexpr std::int64_t kDrawn = 1 << 20;
  const Context context(cpu_table(), 1);
  for (const auto& matrix : {normal_matrix, uniform_matrix}) {
    const Tensor tensor = matrix(context, DType::kF32, {kDrawn + 3}, 1);
    const float* values = tensor.view().as<float>();
    EXPECT_TRUE(std::equal(values, values + 3, values + kDrawn));
    EXPECT_NE(values[0], values[1]);
  }
}

TEST(RandomFill, OfNothingIsNothing) {
  const Context context(cpu_table(), 1);
  EXPECT_EQ(uniform_matrix(context, DType::kBf16, {0, 5}, 1).view().num_elements(), 0);
}

TEST(RandomFill, UniformNumbersLieAroundZero) {
  const Context context(cpu_table(), 1);
  const Tensor tensor = uniform_matrix(context, DType::kF32, {100, 101}, 3);
  const float* values = tensor.view().as<float>();
  double sum = 0.0;
  for (std::int64_t i = 0; i < 10100; ++i) {
    ASSERT_GE(values[i], -1.0f);
    ASSERT_LT(values[i], 1.0f);
    sum += values[i];
  }
  // The mean of 10,100 of variance 1/3 has a deviation of 0.0057: five of them.
  EXPECT_LT(std::abs(sum / 10100.0), 0.029);
  EXPECT_NE(values[0], uniform_matrix(context, DType::kF32, {1, 1}, 4).view().as<float>()[0]);
}

// 64 products of a weight and a number, both uniform, have variance 64 * (9 / 64 / 3) * (1 / 3) = 1.
TEST(RandomFill, WeightsKeepTheVarianceOfNumbers) {
  constexpr std::int64_t kInputs = 64, kOutputs = 400;
  const Context context(cpu_table(), 1);
  const Tensor weights = uniform_weights(context, kOutputs, kInputs, 4);
  const Tensor x = uniform_matrix(context, DType::kF32, {kInputs}, 3);
  double squares = 0.0, of_x = 0.0;
  for (std::int64_t i = 0; i < kInputs; ++i) of_x += std::pow(x.view().as<float>()[i], 2);
  for (std::int64_t o = 0; o < kOutputs; ++o) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < kInputs; ++i)
      sum += double{weights.view().as<float>()[o * kInputs + i]} * x.view().as<float>()[i];
    squares += sum * sum / kOutputs;
  }
  // Given x the variance is 3 / 64 of its squares; the mean of 400 squares of nearly normal numbers
  // has a deviation of sqrt(2 / 400) of it: five of them.
  const double expected = 3.0 / kInputs * of_x;
  EXPECT_NEAR(squares, expected, 5.0 * std::sqrt(2.0 / kOutputs) * expected);
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
