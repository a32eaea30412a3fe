// SPDX-License-Identifier: Apache-2.0
#include "base/bf16.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace twill {
namespace {

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(Bf16, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x1'0000u; ++bits) {
    const Bf16 value{static_cast<std::uint16_t>(bits)};
    const Bf16 back = to_bf16(to_float(value));
    if (std::isnan(to_float(value))) {
      EXPECT_TRUE(std::isnan(to_float(back))) << bits;
    } else {
      EXPECT_EQ(back, value) << bits;
    }
  }
}

// Between every pair of neighbours: below the middle down, above it up, in the middle to even. The
// integers that encode magnitudes are in order, so one loop serves both signs and all exponents.
TEST(Bf16, RoundsToNearestEvenEverywhere) {
  for (std::uint32_t bits = 0; bits < 0x1'0000u; ++bits) {
    if ((bits & 0x7fffu) >= 0x7f80u) continue;  // infinities and NaN have no neighbour above
    const std::uint32_t low = bits << 16;
    const std::uint32_t even = bits + (bits & 1u);
    ASSERT_EQ(to_bf16(from_bits(low | 0x0001u)).bits, bits);
    ASSERT_EQ(to_bf16(from_bits(low | 0x7fffu)).bits, bits);
    ASSERT_EQ(to_bf16(from_bits(low | 0x8000u)).bits, even);
    ASSERT_EQ(to_bf16(from_bits(low | 0x8001u)).bits, bits + 1);
    ASSERT_EQ(to_bf16(from_bits(low | 0xffffu)).bits, bits + 1);
  }
}

TEST(Bf16, LargeValuesBecomeInfinite) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(to_float(to_bf16(largest)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(to_float(to_bf16(-largest)), -std::numeric_limits<float>::infinity());
}

// Payloads in the lower half alone must not turn into infinities.
TEST(Bf16, NanStaysNan) {
  for (std::uint32_t payload = 1; payload < 0x80'0000u; payload += payload < 0x200u ? 1u : 0x101u) {
    for (const std::uint32_t sign : {0u, 0x8000'0000u}) {
      const Bf16 value = to_bf16(from_bits(sign | 0x7f80'0000u | payload));
      ASSERT_TRUE(std::isnan(to_float(value))) << payload;
      ASSERT_EQ((value.bits & 0x8000u) != 0, sign != 0) << payload;
    }
  }
}

TEST(Bf16, KeepsTheSignOfZero) {
  EXPECT_EQ(to_bf16(0.0f).bits, 0x0000u);
  EXPECT_EQ(to_bf16(-0.0f).bits, 0x8000u);
  EXPECT_EQ(to_bf16(1.0f).bits, 0x3f80u);
}

}  // namespace
}  // namespace twill
