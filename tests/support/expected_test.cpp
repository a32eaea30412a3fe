// SPDX-License-Identifier: Apache-2.0
// The trial of the judge.
#include "support/expected.h"

#include <limits>

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr ErrorModel kModel{.terms = 4.0};

// One element beside a right one, so that the oracle is not zero everywhere.
bool accepts(double got, double want) {
  const std::vector<Expected> expected{{want, std::abs(want)}, {1.0, 1.0}};
  return static_cast<bool>(expect_close("x", {got, 1.0}, expected, kModel));
}

TEST(ExpectClose, JudgesBothSigns) {
  EXPECT_TRUE(accepts(2.0, 2.0));
  EXPECT_TRUE(accepts(-2.0, -2.0));
  EXPECT_FALSE(accepts(5.0, 2.0));
  EXPECT_FALSE(accepts(-5.0, -2.0));
  EXPECT_FALSE(accepts(-1.0, -2.0));
  EXPECT_FALSE(accepts(2.0, -2.0));
  EXPECT_FALSE(accepts(-2.0, 2.0));
}

TEST(ExpectClose, JudgesZero) {
  EXPECT_TRUE(accepts(0.0, 0.0));
  EXPECT_TRUE(accepts(-0.0, 0.0));
  EXPECT_FALSE(accepts(-3.0, 0.0));
  EXPECT_FALSE(accepts(1e-30, 0.0));
  EXPECT_FALSE(accepts(0.0, 3.0));
}

TEST(ExpectClose, NanIsInfinitelyWrong) {
  EXPECT_FALSE(accepts(kNan, 1.0));
  EXPECT_FALSE(accepts(1.0, kNan));
  EXPECT_FALSE(accepts(kNan, kNan));
  EXPECT_EQ(excess(kNan, {1.0, 1.0}, kModel), kInf);
}

TEST(ExpectClose, InfinityIsRightOnlyWhenWanted) {
  EXPECT_TRUE(accepts(kInf, kInf));
  EXPECT_FALSE(accepts(-kInf, kInf));
  EXPECT_FALSE(accepts(kInf, 1e38));
  EXPECT_FALSE(accepts(1e38, kInf));
}

// 4 eps of the terms and 1 eps of the value, to both sides.
TEST(ExpectClose, DrawsTheLineWhereTheModelSays) {
  const Expected want{1.0, 10.0};
  const double bound = (4.0 * 10.0 + 1.0) * kEpsF32;
  EXPECT_LE(excess(1.0 + 0.999 * bound, want, kModel), 1.0);
  EXPECT_GT(excess(1.0 + 1.001 * bound, want, kModel), 1.0);
  EXPECT_LE(excess(1.0 - 0.999 * bound, want, kModel), 1.0);
  EXPECT_GT(excess(1.0 - 1.001 * bound, want, kModel), 1.0);
}

TEST(ExpectClose, AllowsSubnormalRounding) {
  EXPECT_LE(excess(0.0, {0x1p-150, 0x1p-150}, kModel), 1.0);
  EXPECT_GT(excess(0.0, {0x1p-140, 0x1p-140}, kModel), 1.0);
}

TEST(ExpectClose, AZeroOracleProvesNothing) {
  const std::vector<Expected> zeros{{0.0, 1.0}, {0.0, 0.0}};
  EXPECT_FALSE(expect_close("x", {0.0, 0.0}, zeros, kModel));
  EXPECT_TRUE(expect_close("x", {}, {}, kModel));
}

TEST(ExpectClose, WantsEveryElement) {
  const std::vector<Expected> want{{1.0, 1.0}, {2.0, 2.0}};
  EXPECT_FALSE(expect_close("x", {1.0}, want, kModel));
  EXPECT_FALSE(expect_close("x", {1.0, 2.0, 3.0}, want, kModel));
}

TEST(ExpectClose, NamesTheWorstElement) {
  const std::vector<Expected> want{{1.0, 1.0}, {2.0, 2.0}, {3.0, 3.0}};
  const auto result = expect_close("dx", {1.1, 4.0, 3.1}, want, kModel);
  EXPECT_NE(std::string(result.message()).find("dx[1]: got 4, want 2, error/bound"),
            std::string::npos)
      << result.message();
}

TEST(ExpectSameBits, SeesTheSignOfZero) {
  EXPECT_TRUE(expect_same_bits("x", {0.0, -0.0, kNan, kInf}, {0.0, -0.0, -kNan, kInf}));
  EXPECT_FALSE(expect_same_bits("x", {0.0}, {-0.0}));
  EXPECT_FALSE(expect_same_bits("x", {1.0}, {std::nextafter(1.0, 2.0)}));
  EXPECT_FALSE(expect_same_bits("x", {kNan}, {1.0}));
  EXPECT_FALSE(expect_same_bits("x", {1.0}, {1.0, 2.0}));
}

TEST(ExpectSameSpecials, SeesEveryKind) {
  EXPECT_TRUE(expect_same_specials("x", {kNan, kInf, -kInf, 1.0}, {kNan, kInf, -kInf, 2.0}));
  EXPECT_FALSE(expect_same_specials("x", {1.0}, {kNan}));
  EXPECT_FALSE(expect_same_specials("x", {kNan}, {1.0}));
  EXPECT_FALSE(expect_same_specials("x", {kInf}, {-kInf}));
  EXPECT_FALSE(expect_same_specials("x", {kInf}, {kNan}));
  EXPECT_FALSE(expect_same_specials("x", {1e38}, {kInf}));
  EXPECT_FALSE(expect_same_specials("x", {}, {1.0}));
}

}  // namespace
}  // namespace twill
