// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace twill {
namespace {

// The known answers that come with the authors' Random123 library.
TEST(Philox, KnowsItsAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, 0, 0),
            (Philox4{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const std::uint32_t ones = 0xffff'ffffu;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, ones, ones),
            (Philox4{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(
      philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0xa4093822u, 0x299f31d0u),
      (Philox4{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(RandomBits, EveryArgumentCounts) {
  std::set<Philox4> seen;
  const std::uint64_t high = std::uint64_t{1} << 32;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, high})
    for (const Purpose purpose : {Purpose::kInit, Purpose::kDropout})
      for (const std::uint32_t step : {0u, 1u})
        for (const std::uint64_t element : {std::uint64_t{0}, std::uint64_t{1}, high})
          seen.insert(random_bits(seed, purpose, step, element));
  EXPECT_EQ(seen.size(), 3u * 2u * 2u * 3u);
}

// The numbers are part of the format of a run.
TEST(RandomBits, IsPhiloxOfElementStepAndPurpose) {
  EXPECT_EQ(random_bits(0x1'0000'0002u, Purpose::kDropout, 9, 0x3'0000'0004u),
            philox4x32({4, 3, 9, 3}, 2, 1));
}

TEST(UnitFloat, LiesInTheHalfOpenInterval) {
  EXPECT_EQ(unit_float(0), 0.0f);
  EXPECT_EQ(unit_float(0xffu), 0.0f);
  EXPECT_EQ(unit_float(0x100u), 0x1p-24f);
  EXPECT_EQ(unit_float(0x8000'0000u), 0.5f);
  EXPECT_EQ(unit_float(0xffff'ffffu), 1.0f - 0x1p-24f);
  EXPECT_LT(unit_float(0xffff'ffffu), 1.0f);
}

// Mean of n numbers of variance 1/12: six standard deviations are passed once in 5e8 seeds.
TEST(UnitFloat, IsUniform) {
  const int n = 100'000;
  double sum = 0.0;
  for (int i = 0; i < n; ++i)
    sum += unit_float(random_bits(1, Purpose::kTest, 0, static_cast<std::uint64_t>(i))[0]);
  EXPECT_NEAR(sum / n, 0.5, 6.0 * std::sqrt(1.0 / 12.0 / n));
}

TEST(NormalFloat, IsFiniteAtTheEdges) {
  for (const std::uint32_t bits0 : {0u, 1u, 0x8000'0000u, 0xffff'ffffu})
    for (const std::uint32_t bits1 : {0u, 0x4000'0000u, 0xffff'ffffu})
      EXPECT_TRUE(std::isfinite(normal_float(bits0, bits1))) << bits0 << " " << bits1;
  EXPECT_GT(normal_float(0, 0), 6.0f);  // the far tail: sqrt(2 ln 2^33)
}

// The k-th power of a normal number has variance (2k-1)!! - ((k-1)!!)² (odd k: (2k-1)!!).
TEST(NormalFloat, HasTheMomentsOfANormal) {
  const int n = 200'000;
  double moments[5] = {};
  for (int i = 0; i < n; ++i) {
    const Philox4 bits = random_bits(1, Purpose::kTest, 1, static_cast<std::uint64_t>(i));
    const double x = normal_float(bits[0], bits[1]);
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(x, k) / n;
  }
  const auto six_sigma = [&](double variance) { return 6.0 * std::sqrt(variance / n); };
  EXPECT_NEAR(moments[1], 0.0, six_sigma(1.0));
  EXPECT_NEAR(moments[2], 1.0, six_sigma(3.0 - 1.0));
  EXPECT_NEAR(moments[3], 0.0, six_sigma(15.0));
  EXPECT_NEAR(moments[4], 3.0, six_sigma(105.0 - 9.0));
}

}  // namespace
}  // namespace twill
