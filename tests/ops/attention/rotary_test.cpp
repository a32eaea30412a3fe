// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/rotary.h"

#include <cmath>
#include <numbers>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/finite_difference.h"
#include "support/judge.h"

namespace twill {
namespace {

struct RotaryProblem {
  std::int64_t B, T, heads, D;
  std::int64_t num_rotated;
  Values x;
  bool inverse = false;
  double theta = 10000.0;
  std::int64_t first_position = 0;

  Outputs run(const Setup& setup) const {
    const Buffer out = setup.buffer(x);
    rotary(*setup.context(), {.x = out.view({B, T, heads, D}),
                              .num_rotated = num_rotated,
                              .theta = theta,
                              .first_position = first_position,
                              .inverse = inverse});
    return {{"x", out.values(), out.dtype()}};
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> out;
    for (const double v : x) out.push_back(N(v));
    for (std::int64_t row = 0; row < B * T * heads; ++row) {
      if (row % heads >= num_rotated) continue;
      for (std::int64_t i = 0; i < D / 2; ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(D);
        const double angle =
            static_cast<double>(first_position + row / heads % T) * std::pow(theta, exponent);
        const N u = N(x[row * D + i]), v = N(x[row * D + i + D / 2]);
        const N cosine = N(std::cos(angle)), sine = N(std::sin(inverse ? -angle : angle));
        out[row * D + i] = u * cosine - v * sine;
        out[row * D + i + D / 2] = u * sine + v * cosine;
      }
    }
    return {out};
  }
};

// 4 eps (|u| + |v|), as the header says; here with |u cos| + |v sin|, which is less.
constexpr ErrorModel kModel{.terms = 4.0, .eps_acc = kEpsF32, .eps_out = 0.0};

RotaryProblem random_problem(Random& random, std::int64_t B, std::int64_t T, std::int64_t heads,
                             std::int64_t D, std::int64_t num_rotated) {
  return {B, T, heads, D, num_rotated, random.normal(B * T * heads * D)};
}

testing::AssertionResult check_one(const Setup& setup, RotaryProblem problem) {
  for (const bool inverse : {false, true}) {
    problem.inverse = inverse;
    if (auto result = judge(setup, problem, kModel); !result)
      return result << fmt::format(" for B {}, T {}, heads {} of {}, D {}, inverse {}", problem.B,
                                   problem.T, problem.num_rotated, problem.heads, problem.D,
                                   inverse);
  }
  return testing::AssertionSuccess();
}

// Heads beyond num_rotated keep every bit.
testing::AssertionResult check_values_untouched(const Setup& setup) {
  RotaryProblem problem{1, 3, 2, 4, 1, Values(24, -0.0)};
  const Values out = problem.run(setup)[0].values;
  for (std::int64_t t = 0; t < 3; ++t) {
    const Values kept(out.begin() + t * 8 + 4, out.begin() + t * 8 + 8);
    if (auto result = expect_same_bits("values", kept, Values(4, -0.0)); !result) return result;
  }
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult check_rotary(const Setup& setup) {
  Random random;
  for (const std::int64_t D : {2, 6, 16, 34, 64, 80})
    for (const std::int64_t T : {0, 1, 2, 17, 65, 130})
      if (auto result = check_one(setup, random_problem(random, 2, T, 3, D, 2)); !result)
        return result;
  for (const std::int64_t num_rotated : {0, 1, 5, 7})
    if (auto result = check_one(setup, random_problem(random, 1, 9, 7, 16, num_rotated)); !result)
      return result;
  for (const std::int64_t first : {1, 7, 300}) {
    RotaryProblem problem = random_problem(random, 2, 3, 3, 16, 2);
    problem.first_position = first;
    if (auto result = check_one(setup, problem); !result) return result << " from " << first;
  }
  return check_values_untouched(setup);
}

namespace {

class Rotary : public TableTest {};

TEST_P(Rotary, MatchesOracle) { EXPECT_TRUE(check_rotary(GetParam())); }

TEST_P(Rotary, KnowsOtherBases) {
  Random random;
  for (const double theta : {1.0, 100.0, 500000.0}) {
    RotaryProblem problem = random_problem(random, 1, 65, 2, 16, 2);
    problem.theta = theta;
    EXPECT_TRUE(check_one(GetParam(), problem)) << "theta " << theta;
  }
}

// Angles are exact in f64 even far out, where an f32 angle would be off by 1e-3.
TEST_P(Rotary, StaysExactAtLargePositions) {
  Random random;
  EXPECT_TRUE(check_one(GetParam(), random_problem(random, 1, 5000, 1, 4, 1)));
}

INSTANTIATE_TEST_SUITE_P(Tables, Rotary, testing::ValuesIn(setups_with_device()), setup_name);

class RotaryReference : public SeededTest {};

TEST_F(RotaryReference, TurnsByHand) {
  // D = 4, theta = 4 / π²: at t = 1 pair 0 turns by 1, pair 1 by theta^(-1/2) = π/2.
  RotaryProblem problem{1, 2, 1, 4, 1, {1, 2, 3, 4, 1, 2, 3, 4}};
  problem.theta = 4.0 / (std::numbers::pi * std::numbers::pi);
  const Values out = problem.run(oracle())[0].values;
  const double c = std::cos(1.0), s = std::sin(1.0);
  const Values want{1, 2, 3, 4, c - 3 * s, -4, s + 3 * c, 2};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(out[i], want[i], 16 * kEpsF64) << i;
}

TEST_F(RotaryReference, InverseUndoesTheTurn) {
  Random random;
  RotaryProblem problem = random_problem(random, 2, 9, 3, 8, 2);
  const Values x = problem.x;
  problem.x = problem.run(oracle())[0].values;
  problem.inverse = true;
  const Values back = problem.run(oracle())[0].values;
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 32 * kEpsF64) << i;
}

// The inverse turn is the gradient of the turn.
TEST_F(RotaryReference, GradientMatchesFiniteDifferences) {
  Random random;
  const RotaryProblem forward = random_problem(random, 1, 4, 3, 6, 2);
  const Values dy = random.normal(1 * 4 * 3 * 6);
  const auto loss = [&](const Values& at) {
    RotaryProblem moved = forward;
    moved.x = at;
    return weighted_sum(moved.run(oracle())[0].values, dy);
  };
  RotaryProblem backward = forward;
  backward.x = dy;
  backward.inverse = true;
  EXPECT_TRUE(expect_gradient("dx", loss, forward.x, backward.run(oracle())[0].values));
}

TEST(RotaryErrors, NameTheProblem) {
  const Buffer data(Values(24), DType::kF32);
  const RotaryArgs good{.x = data.view({1, 2, 3, 4}), .num_rotated = 2};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.x = {}; }, "[rotary] x is missing");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = data.view({6, 4});
      },
      "[rotary] x must have shape (B, T, heads, D), got (6, 4)");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = data.view({1, 2, 4, 3});
      },
      "[rotary] the head dimension must be even, got 3");
  expect_refused(
      good, [](auto& args) { args.num_rotated = 4; }, "[rotary] num_rotated must be 0 to 3, got 4");
  expect_refused(
      good, [](auto& args) { args.num_rotated = -1; },
      "[rotary] num_rotated must be 0 to 3, got -1");
  expect_refused(
      good, [](auto& args) { args.first_position = -1; },
      "[rotary] first_position must be at least 0, got -1");
  expect_refused(
      good, [](auto& args) { args.theta = 0.0; }, "[rotary] theta must be positive, got 0");
}

}  // namespace
}  // namespace twill
