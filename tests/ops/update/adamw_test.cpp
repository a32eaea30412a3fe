// SPDX-License-Identifier: Apache-2.0
#include "ops/update/adamw.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/bf16.h"
#include "base/rng.h"
#include "ops/checks.h"
#include "ops/update/adamw_problem.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

// The longest way, to the weight, has twelve roundings; most weigh lr times less than the result.
constexpr TwoOracleRule kRule{.floor = 8.0};

testing::AssertionResult check_one(const Setup& setup, const AdamwProblem& problem) {
  return judge(setup, problem, kRule)
         << fmt::format(" for {} elements, step {}", problem.weight.size(), problem.step);
}

}  // namespace

testing::AssertionResult check_adamw(const Setup& setup) {
  Random random;
  for (const std::int64_t count : kAwkwardSizes) {
    for (const std::int64_t step : {1, 2, 100, 100'000}) {
      AdamwProblem problem = random_problem(random, count);
      problem.step = step;
      problem.lr = step == 1 ? 0.5 : 1e-3;  // a large update leaves its errors no place to hide
      problem.weight_decay = step == 100 ? 0.0 : 0.1;
      if (auto result = check_one(setup, problem); !result) return result;
      problem.freeze_v = true;
      if (auto result = check_one(setup, problem); !result) return result;
    }
  }
  return testing::AssertionSuccess();
}

namespace {

class Adamw : public TableTest {};

TEST_P(Adamw, MatchesOracle) { EXPECT_TRUE(check_adamw(GetParam())); }

TEST_P(Adamw, MatchesOracleOnAwkwardData) {
  Random random;
  for (const double spread : {1e-3, 1e-10, 1e-25, 1e4})  // at 1e-25 squares fall below f32
    EXPECT_TRUE(check_one(GetParam(), random_problem(random, 67, spread))) << spread;
}

TEST_P(Adamw, FirstStepFromZeroMoments) {
  Random random;
  AdamwProblem problem = random_problem(random, 33);
  problem.step = 1;
  problem.m.assign(33, 0.0);
  problem.v.assign(33, 0.0);
  problem.grad[5] = 0.0;  // 0 / (0 + eps)
  EXPECT_TRUE(check_one(GetParam(), problem));
}

TEST_P(Adamw, FrozenSecondMomentsDoNotMove) {
  Random random;
  AdamwProblem problem = random_problem(random, 67);
  problem.freeze_v = true;
  EXPECT_EQ(problem.run(GetParam())[2].values, problem.v);
}

// The draw of element i: the lower half of its word is for m, the upper half for v.
std::uint32_t word_of(const AdamwProblem& problem, std::size_t i) {
  return random_bits(problem.seed, Purpose::kMoments, static_cast<std::uint32_t>(problem.step),
                     (problem.stream << 40) + i / 4)[i % 4];
}

// What bf16 stores of x: of its two neighbours the one farther from zero, when the way to it that x
// has gone, in parts of 2^16, reaches 2^16 together with the draw. Written in numbers, not in bits.
double stored(double x, std::uint32_t draw) {
  if (!std::isfinite(x)) return x;
  Bf16 near{static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16)};
  const Bf16 far{static_cast<std::uint16_t>(near.bits + 1)};
  const double gap = double{to_float(far)} - to_float(near);
  const double gone = (x - to_float(near)) / gap * 0x1p16;
  return to_float(gone + draw >= 0x1p16 ? far : near);
}

// The same update with f32 moments shows what was rounded, so every backend owes every bit.
testing::AssertionResult check_bf16_moments(const Setup& setup, AdamwProblem problem) {
  for (Values* moment : {&problem.m, &problem.v})
    for (double& value : *moment) value = to_float(to_bf16(static_cast<float>(value)));
  const Outputs wide = problem.run(setup);
  problem.bf16_moments = true;
  const Outputs narrow = problem.run(setup);
  if (auto result = expect_threads_agree(setup, problem, narrow); !result) return result;
  Outputs want = wide;
  for (std::size_t i = 0; i < problem.weight.size(); ++i) {
    const std::uint32_t word = word_of(problem, i);
    want[1].values[i] = stored(wide[1].values[i], word & 0xffffu);
    want[2].values[i] = stored(wide[2].values[i], word >> 16);
  }
  return expect_same_bits(narrow, want)
         << fmt::format(" for {} elements, step {}", problem.weight.size(), problem.step);
}

TEST_P(Adamw, RoundsBf16MomentsByTheDraw) {
  Random random;
  std::vector<std::int64_t> sizes(std::begin(kAwkwardSizes), std::end(kAwkwardSizes));
  sizes.push_back(40'001);  // several pieces, none of them whole at the end
  for (const std::int64_t size : sizes) {
    AdamwProblem problem = random_problem(random, size);
    problem.stream = static_cast<std::uint64_t>(size) % 5 << 20;
    problem.step = size % 2 == 0 ? 3 : 1'000'000'007;
    EXPECT_TRUE(check_bf16_moments(GetParam(), problem));
    problem.freeze_v = true;
    EXPECT_TRUE(check_bf16_moments(GetParam(), problem));
    if (size < 8) continue;
    problem.freeze_v = false;
    problem.m[1] = problem.v[1] = std::nan("");
    problem.m[2] = problem.v[2] = std::numeric_limits<double>::infinity();
    problem.m[3] = -0x1p-130;  // below the normal range
    problem.grad[3] = 0x1.5p-128;
    problem.m[4] = problem.v[4] = 3.3e38;  // near the largest bf16
    EXPECT_TRUE(check_bf16_moments(GetParam(), problem));
  }
}

// A problem with beta = 0 stores the gradient in m and its square in v.
AdamwProblem rounding_problem(double grad, std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  AdamwProblem problem{.weight = Values(size),
                       .grad = Values(size, static_cast<float>(grad)),
                       .m = Values(size),
                       .v = Values(size)};
  problem.grad_scale = 1.0;
  problem.beta1 = problem.beta2 = 0.0;
  problem.bf16_moments = true;
  return problem;
}

TEST_P(Adamw, RoundingOfBf16MomentsHasNoBias) {
  constexpr std::int64_t kDraws = 1 << 16;
  for (const double grad : {1.0 + 0x1p-15, 1.003, -0.777, 3.1e-20, -1e-39}) {
    const AdamwProblem problem = rounding_problem(grad, kDraws);
    const Outputs out = problem.run(GetParam());
    AdamwProblem exact = problem;
    exact.bf16_moments = false;
    const Outputs wide = exact.run(GetParam());
    double both = 0.0, farther[2] = {}, share[2] = {};
    for (const std::size_t k : {0u, 1u}) {
      const double x = wide[k + 1].values[0], near = stored(x, 0), far = stored(x, 0xffff);
      share[k] = near == far ? 0.0 : (x - near) / (far - near);
      for (const double value : out[k + 1].values) {
        ASSERT_TRUE(value == near || value == far) << value;
        farther[k] += value == far && near != far ? 1.0 : 0.0;
      }
      // Six standard deviations of a count of independent draws.
      EXPECT_NEAR(farther[k], share[k] * kDraws, 6 * std::sqrt(share[k] * (1 - share[k]) * kDraws))
          << "moment " << k << " of gradient " << grad;
    }
    const double m_near = stored(wide[1].values[0], 0), v_near = stored(wide[2].values[0], 0);
    for (std::size_t i = 0; i < kDraws; ++i)
      both += out[1].values[i] != m_near && out[2].values[i] != v_near ? 1.0 : 0.0;
    const double chance = share[0] * share[1];
    EXPECT_NEAR(both, chance * kDraws, 6 * std::sqrt(chance * (1 - chance) * kDraws))
        << "m and v are rounded independently";
  }
}

// v_n = g² + (1 - g²) beta2^n, from 1 to 0.55 in steps of at most 0.0015 v. That is less than half
// the gap below 1, 2^-9, so that rounding to nearest never leaves 1. By chance the mean is exact, and
// a step of size d between numbers a gap h <= 2^-7 v apart adds at most d h to the variance: 400
// steps 0.6 · 2^-7 v².
TEST_P(Adamw, Bf16SecondMomentsFollowASlowDecay) {
  constexpr std::int64_t kElements = 4096;
  constexpr int kSteps = 400;
  constexpr double kGrad = 0.125, kChange = 0.0015;
  AdamwProblem problem = rounding_problem(kGrad, kElements);
  problem.beta2 = 1.0 - kChange;
  problem.v.assign(kElements, 1.0);
  double nearest = 1.0, truth = 1.0;
  const auto next = [&](double v) { return v + kChange * (kGrad * kGrad - v); };
  for (int step = 1; step <= kSteps; ++step) {
    problem.step = step;
    problem.v = problem.run(GetParam())[2].values;
    truth = next(truth);
    nearest = to_float(to_bf16(static_cast<float>(next(nearest))));
  }
  double mean = 0.0;
  for (const double v : problem.v) mean += v / kElements;
  EXPECT_NEAR(mean, truth, 6 * std::sqrt(kSteps * kChange * 0x1p-7 / kElements) * truth);
  EXPECT_EQ(nearest, 1.0) << "rounding to nearest would pass this test";
}

INSTANTIATE_TEST_SUITE_P(Tables, Adamw, testing::ValuesIn(setups_with_device()), setup_name);

// After the bias corrections the first step is lr times the sign of the gradient.
TEST(AdamwReference, FirstStepByHand) {
  AdamwProblem problem{.weight = {1.0, 1.0}, .grad = {8.0, -2.0}, .m = {0, 0}, .v = {0, 0}};
  problem.lr = 0.25;
  problem.weight_decay = 0.5;
  problem.step = 1;
  problem.beta1 = 0.75;
  problem.beta2 = 0.5;
  problem.eps = 0.0;
  const Outputs out = problem.run(oracle());
  EXPECT_DOUBLE_EQ(out[0].values[0], 1.0 - 0.25 * (1.0 + 0.5));
  EXPECT_DOUBLE_EQ(out[0].values[1], 1.0 - 0.25 * (-1.0 + 0.5));
  EXPECT_DOUBLE_EQ(out[1].values[0], 0.25 * 4.0);
  EXPECT_DOUBLE_EQ(out[2].values[0], 0.5 * 16.0);
}

TEST(AdamwReference, SecondStepByHand) {
  // beta1 = beta2 = 1/2, step 2: both corrections are 3/4.
  AdamwProblem problem{.weight = {0.0}, .grad = {2.0}, .m = {4.0}, .v = {16.0}};
  problem.lr = 1.0;
  problem.grad_scale = 1.0;
  problem.step = 2;
  problem.beta1 = problem.beta2 = 0.5;
  problem.eps = 1.0;
  const Outputs out = problem.run(oracle());
  EXPECT_DOUBLE_EQ(out[1].values[0], 3.0);
  EXPECT_DOUBLE_EQ(out[2].values[0], 10.0);
  EXPECT_DOUBLE_EQ(out[0].values[0], -4.0 / (std::sqrt(10.0 / 0.75) + 1.0));
}

// Neither changed nor corrected: sqrt(16) + 1 whatever the step.
TEST(AdamwReference, FrozenByHand) {
  AdamwProblem problem{.weight = {0.0}, .grad = {2.0}, .m = {4.0}, .v = {16.0}};
  problem.lr = 1.0;
  problem.grad_scale = 1.0;
  problem.step = 2;
  problem.beta1 = problem.beta2 = 0.5;
  problem.eps = 1.0;
  problem.freeze_v = true;
  const Outputs out = problem.run(oracle());
  EXPECT_DOUBLE_EQ(out[0].values[0], -4.0 / (4.0 + 1.0));
  EXPECT_DOUBLE_EQ(out[1].values[0], 3.0);
  EXPECT_DOUBLE_EQ(out[2].values[0], 16.0);
}

TEST(AdamwErrors, NameTheOperand) {
  const Buffer six(Values(6), DType::kF32), two(Values(2), DType::kF32);
  const View all = six.view({2, 3});
  const AdamwArgs good{.weight = all, .grad = all, .m = all, .v = all};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.m = {}; }, "[adamw] m is missing");
  expect_refused(
      good, [&](auto& args) { args.grad = two.view({2}); },
      "[adamw] grad must have shape (2, 3), got (2)");
  expect_refused(
      good, [&](auto& args) { args.m = two.view({2}); },
      "[adamw] m must have shape (2, 3), got (2)");
  expect_refused(
      good, [&](auto& args) { args.v = two.view({2}); },
      "[adamw] v must have shape (2, 3), got (2)");
  const Buffer narrow(Values(6), DType::kBf16);
  AdamwArgs both = good;
  both.m = both.v = narrow.view({2, 3});
  EXPECT_NO_THROW(validate(both));
  expect_refused(
      both, [&](auto& args) { args.v = all; }, "[adamw] v must be bf16, got f32");
  expect_refused(
      both, [&](auto& args) { args.m = all; }, "[adamw] v must be f32 or f64, got bf16");
  expect_refused(
      good, [](auto& args) { args.step = 0; }, "[adamw] step must be 1 or more, got 0");
  expect_refused(
      good, [](auto& args) { args.stream = 1 << 24; },
      "[adamw] stream must be below 2^24, got 16777216");
}

}  // namespace
}  // namespace twill
