// SPDX-License-Identifier: Apache-2.0
#include "measure/ratio.h"

#include <numeric>

#include <gtest/gtest.h>

namespace twill {
namespace {

// Ratios 1 … count, in an order that is not theirs.
PairedRatio ratio_of(std::int64_t count) {
  std::vector<double> above, below;
  for (std::int64_t i = 0; i < count; ++i) {
    above.push_back(2.0 * static_cast<double>((7 * i) % count + 1));
    below.push_back(2.0);
  }
  return paired_ratio(above, below);
}

TEST(PairedRatio, IsTheMedianOfPairsNotTheRatioOfMedians) {
  // Ratios 2, 3, 0.5; medians would give 3 / 2.
  const PairedRatio ratio =
      paired_ratio(std::vector<double>{2.0, 3.0, 4.0}, std::vector<double>{1.0, 1.0, 8.0});
  EXPECT_DOUBLE_EQ(ratio.median, 2.0);
  EXPECT_EQ(ratio.pairs, 3);
}

// Ranks of the binomial distribution: P(B(30) <= 9) = 0.0214, P(B(30) <= 10) = 0.0494.
TEST(PairedRatio, HasTheIntervalOfOrderStatistics) {
  const PairedRatio thirty = ratio_of(30);
  EXPECT_DOUBLE_EQ(thirty.median, 15.5);
  EXPECT_DOUBLE_EQ(thirty.low, 10.0);
  EXPECT_DOUBLE_EQ(thirty.high, 21.0);
  // 2 / 2^6 = 3.1 %: six pairs are the fewest with an interval, all of them.
  EXPECT_DOUBLE_EQ(ratio_of(6).low, 1.0);
  EXPECT_DOUBLE_EQ(ratio_of(6).high, 6.0);
  // P(B(9) <= 1) = 0.0195.
  EXPECT_DOUBLE_EQ(ratio_of(9).low, 2.0);
  EXPECT_DOUBLE_EQ(ratio_of(9).high, 8.0);
}

TEST(PairedRatio, OfFewPairsShowsTheRange) {
  EXPECT_DOUBLE_EQ(ratio_of(3).low, 1.0);
  EXPECT_DOUBLE_EQ(ratio_of(3).high, 3.0);
  EXPECT_DOUBLE_EQ(ratio_of(1).low, 1.0);
  EXPECT_DOUBLE_EQ(ratio_of(1).high, 1.0);
}

}  // namespace
}  // namespace twill
