// SPDX-License-Identifier: Apache-2.0
#include "support/finite_difference.h"

namespace twill {
namespace {

// Σ sin(i x_i)
Expected loss(const Values& x) {
  Values y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back(std::sin(static_cast<double>(i + 1) * x[i]));
  return weighted_sum(y, Values(x.size(), 1.0));
}

Values gradient(const Values& x) {
  Values slopes;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double factor = static_cast<double>(i + 1);
    slopes.push_back(factor * std::cos(factor * x[i]));
  }
  return slopes;
}

const Values kX{0.3, -1.2, 0.8};

TEST(FiniteDifference, AcceptsTheGradient) {
  EXPECT_TRUE(expect_gradient("dx", loss, kX, gradient(kX)));
}

TEST(FiniteDifference, RejectsSmallErrors) {
  for (std::size_t i = 0; i < kX.size(); ++i) {
    Values wrong = gradient(kX);
    wrong[i] *= 1.0 + 1e-5;
    EXPECT_FALSE(expect_gradient("dx", loss, kX, wrong)) << i;
    wrong = gradient(kX);
    wrong[i] = -wrong[i];
    EXPECT_FALSE(expect_gradient("dx", loss, kX, wrong)) << i;
  }
}

TEST(FiniteDifference, RejectsNanZeroAndMissingElements) {
  Values wrong = gradient(kX);
  wrong[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(expect_gradient("dx", loss, kX, wrong));
  EXPECT_FALSE(expect_gradient("dx", loss, kX, Values(3, 0.0)));
  EXPECT_FALSE(expect_gradient("dx", loss, kX, {1.0}));
}

TEST(FiniteDifference, AdmitsWhenItIsTooBlunt) {
  const auto kink = [](const Values& x) { return Expected{std::abs(x[0]), std::abs(x[0])}; };
  const auto result = expect_gradient("dx", kink, {1e-5}, {1.0});
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("too blunt"), std::string::npos) << result.message();
}

}  // namespace
}  // namespace twill
