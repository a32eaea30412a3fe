// SPDX-License-Identifier: Apache-2.0
#include "support/two_oracle.h"

#include <limits>

namespace twill {
namespace {

TEST(TwoOracle, AllowsTwiceTheNaiveError) {
  const std::vector<Expected> want{{1.0, 1.0}, {100.0, 100.0}};
  const std::vector<float> naive{1.0f + 0x1p-20f, 100.0f};  // 16 eps off in the first element
  EXPECT_DOUBLE_EQ(naive_error(naive, want), 16.0 / (1.0 + 0x1p-125));
  const ErrorModel model = two_oracle_model(naive, want, /*floor=*/2.0);
  EXPECT_NEAR(model.terms, 34.0, 1e-9);
  EXPECT_TRUE(expect_close("x", {1.0 + 34 * kEpsF32, 100.0 - 3400 * kEpsF32}, want, model));
  EXPECT_FALSE(expect_close("x", {1.0 + 36 * kEpsF32, 100.0}, want, model));
  EXPECT_FALSE(expect_close("x", {1.0, 100.0 - 3600 * kEpsF32}, want, model));
}

TEST(TwoOracle, ALuckyNaiveResultLeavesTheFloor) {
  const std::vector<Expected> want{{1.0, 1.0}};
  const ErrorModel model = two_oracle_model({1.0f}, want, /*floor=*/4.0);
  EXPECT_TRUE(expect_close("x", {1.0 + 4 * kEpsF32}, want, model));
  EXPECT_FALSE(expect_close("x", {1.0 + 6 * kEpsF32}, want, model));
}

TEST(TwoOracle, ANaiveOverflowGivesNoLicence) {
  const std::vector<Expected> want{{1.0, 1.0}, {1.0, 1.0}};
  const std::vector<float> naive{std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(naive_error(naive, want), 0.0);
}

TEST(Tracked, AddsTheSizesOfTerms) {
  const Tracked sum = Tracked(3.0) + Tracked(-2.0) - Tracked(5.0);
  EXPECT_EQ(sum.value, -4.0);
  EXPECT_EQ(sum.scale, 10.0);
  const Tracked product = sum * Tracked(-2.0);
  EXPECT_EQ(product.value, 8.0);
  EXPECT_EQ(product.scale, 20.0);
  const Tracked quotient = product / Tracked(-4.0);
  EXPECT_EQ(quotient.value, -2.0);
  EXPECT_EQ(quotient.scale, 5.0);
}

// The scale of f(x) grows by the slope times the scale of x: compared with differences.
TEST(Tracked, FunctionsPassOnTheSlope) {
  const auto expect_slope = [](auto f, double at) {
    const double h = 1e-6;
    const double slope = (f(Tracked(at + h)).value - f(Tracked(at - h)).value) / (2.0 * h);
    const Tracked exact = f(Tracked(at, 0.0)), blurred = f(Tracked(at, 1.0));
    EXPECT_EQ(exact.scale, std::abs(exact.value));
    EXPECT_NEAR(blurred.scale - exact.scale, std::abs(slope), 1e-8);
  };
  expect_slope([](Tracked x) { return exp(x); }, 0.7);
  expect_slope([](Tracked x) { return log(x); }, 0.7);
  expect_slope([](Tracked x) { return sqrt(x); }, 0.7);
  expect_slope([](Tracked x) { return tanh(x); }, -0.7);
  expect_slope([](Tracked x) { return erf(x); }, -0.7);
}

TEST(Tracked, FreshForgetsTheTerms) {
  EXPECT_EQ(fresh(Tracked(3.0) - Tracked(5.0)).scale, 2.0);
  EXPECT_EQ(fresh(3.0f), 3.0f);
}

}  // namespace
}  // namespace twill
