// SPDX-License-Identifier: Apache-2.0
#include "base/f16.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace twill {
namespace {

// The value by its definition, in double.
double value_of(std::uint32_t half) {
  const double sign = (half & 0x8000u) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(half >> 10 & 31u);
  const double fraction = half & 1023u;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024.0 + fraction, exponent - 25);
}

TEST(F16, EveryValueIsReadAsDefinedAndSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x1'0000u; ++bits) {
    const F16 half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value_of(bits))) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(to_float(to_f16(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), value_of(bits)) << bits;
      ASSERT_EQ(std::signbit(value), bits >= 0x8000u) << bits;
      ASSERT_EQ(to_f16(value), half) << bits;
    }
  }
}

// Below the middle of two neighbours down, above it up, in the middle to even. The middle is exact
// in f32, and so are the values beside it.
TEST(F16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (std::uint32_t bits = 0; bits < 0x7c00u; ++bits) {
    const double high = bits + 1 == 0x7c00u ? 65536.0 : value_of(bits + 1);
    const auto middle = static_cast<float>((value_of(bits) + high) / 2);
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const float m = sign != 0 ? -middle : middle;
      ASSERT_EQ(to_f16(m).bits, sign | (bits + (bits & 1u))) << bits;
      ASSERT_EQ(to_f16(std::nextafterf(m, 0.0f)).bits, sign | bits) << bits;
      ASSERT_EQ(to_f16(std::nextafterf(m, 2 * m)).bits, sign | (bits + 1)) << bits;
    }
  }
}

TEST(F16, EndsOfTheRange) {
  EXPECT_EQ(to_f16(std::numeric_limits<float>::max()).bits, 0x7c00u);
  EXPECT_EQ(to_f16(-INFINITY).bits, 0xfc00u);
  EXPECT_EQ(to_f16(std::numeric_limits<float>::denorm_min()).bits, 0u);
  EXPECT_EQ(to_f16(-0.0f).bits, 0x8000u);
  for (std::uint32_t payload = 1; payload < 0x80'0000u; payload += 0x101u)
    ASSERT_TRUE(std::isnan(to_float(to_f16(std::bit_cast<float>(0x7f80'0000u | payload)))));
}

}  // namespace
}  // namespace twill
