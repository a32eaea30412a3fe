// SPDX-License-Identifier: Apache-2.0
#include "ops/products/times_packed.h"

#include <iterator>
#include <limits>

#include "ops/checks.h"
#include "ops/products/times_packed_problem.h"
#include "support/expect_error.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kRows[] = {1, 2, 7, 15, 16, 17, 33, 64, 96, 97, 200};
constexpr std::int64_t kOutputs[] = {1, 3, 4, 15, 16, 17, 36, 63, 64, 65, 96, 97, 132, 260, 517};
constexpr std::int64_t kInputs[] = {1, 3, 8, 16, 17, 60, 64, 65, 96, 129, 257, 300, 513, 700};
constexpr double kDensities[] = {0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0};

}  // namespace

// Every kind of mask in turn; sizes, densities and options as drawn.
testing::AssertionResult check_times_packed(const Setup& setup) {
  Random random;
  const auto pick = [&](const auto& choices) {
    const auto last = static_cast<std::int64_t>(std::size(choices)) - 1;
    return choices[index(static_cast<std::int64_t>(random.integers(1, 0, last)[0]))];
  };
  for (int i = 0; i < 72; ++i) {
    const MaskKind kind = kMaskKinds[index(i) % std::size(kMaskKinds)];
    const std::int64_t n = pick(kOutputs), k = pick(kInputs);
    const PackedOperand packed = random_operand(random, kind, n, k, pick(kDensities));
    const int options = static_cast<int>(random.integers(1, 0, kNumOptions - 1)[0]);
    const TimesPackedProblem problem = random_problem(random, pick(kRows), packed, options);
    if (auto result = check_one(setup, problem); !result) return result << ", number " << i;
  }
  for (const Activation gated : kGated) {
    const PackedOperand packed = random_operand(random, MaskKind::kDensity, 36, 65, 0.3);
    TimesPackedProblem problem = random_problem(random, 17, packed, 1 + 4);
    problem.activation = gated;
    if (auto result = check_one(setup, problem); !result) return result << ", gated";
  }
  return testing::AssertionSuccess();
}

namespace {

class TimesPacked : public TableTest {};

TEST_P(TimesPacked, MatchesOracleOnRandomShapes) { EXPECT_TRUE(check_times_packed(GetParam())); }

// Every option with every kind of mask.
TEST_P(TimesPacked, MatchesOracleWithAllOptions) {
  Random random;
  for (const MaskKind kind : kMaskKinds) {
    const PackedOperand packed = random_operand(random, kind, 68, 100, 0.3);
    for (int options = 0; options < kNumOptions; ++options)
      EXPECT_TRUE(check_one(GetParam(), random_problem(random, 33, packed, options)))
          << "options " << options;
  }
}

TEST_P(TimesPacked, MatchesOracleOnEmptyProducts) {
  Random random;
  for (const std::int64_t m : {0, 1, 17})
    for (const std::int64_t n : {0, 1, 20})
      for (const std::int64_t k : {0, 1, 20})
        for (const double density : {0.0, 1.0}) {
          const auto packed = random_operand(random, MaskKind::kDensity, n, k, density);
          EXPECT_TRUE(check_one(GetParam(), random_problem(random, m, packed, 0)));
        }
  for (const std::int64_t k : {0, 30}) {
    const auto nothing = random_operand(random, MaskKind::kDensity, 20, k, 0.0);
    const TimesPackedProblem empty{.m = 3, .packed = nothing, .x = random.normal(3 * k)};
    EXPECT_EQ(empty.run(GetParam())[0].values, Values(60, 0.0));
  }
}

TEST_P(TimesPacked, MatchesOracleOnAwkwardData) {
  Random random;
  for (const MaskKind kind : kMaskKinds) {
    PackedOperand packed = random_operand(random, kind, 36, 132, 0.3);
    TimesPackedProblem problem = random_problem(random, 17, packed, 0);
    for (double& value : problem.packed.dense) value = static_cast<float>(value * 1e-20);
    problem.x = random.normal(17 * problem.k(), 1e-20);  // products below the normal range
    EXPECT_TRUE(check_one(GetParam(), problem));
    problem.packed = packed;
    problem.x = random.normal(17 * problem.k(), 1.0, 1e4);  // sums that cancel
    EXPECT_TRUE(check_one(GetParam(), problem));
  }
}

// Sums of small integers are exact in every order.
TEST_P(TimesPacked, IsExactOnIntegers) {
  Random random;
  for (const MaskKind kind : kMaskKinds) {
    for (int options = 0; options < 4; ++options) {
      const PackedOperand packed = random_operand(random, kind, 65, 260, 0.3);
      TimesPackedProblem problem = random_problem(random, 35, packed, options);
      for (Values* values : {&problem.packed.dense, &problem.x, &problem.bias, &problem.addend})
        *values = random.integers(static_cast<std::int64_t>(values->size()), -8, 8);
      EXPECT_TRUE(judge_exact(GetParam(), problem)) << "options " << options;
    }
  }
}

TEST_P(TimesPacked, LiteralValues) {
  // P = (1 . 0; . 2 -3), the 0 kept.
  TimesPackedProblem problem{.m = 2,
                             .packed = {.shape = {.rows = 2, .cols = 3, .max_kept = 4},
                                        .dense = {1, 9, 0, 9, 2, -3},
                                        .mask = {1, 0, 1, 0, 1, 1}},
                             .x = {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{1, -5, 4, -8}));
  problem.bias = {10, 20};
  problem.addend = {100, 200, 300, 400};
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{111, 215, 314, 412}));
  problem.activation = Activation::kRelu2;
  problem.epilogue = GemmEpilogue::kActivation;
  const Outputs forward = problem.run(GetParam());
  EXPECT_EQ(forward[0].values, (Values{111, 215, 314, 412}));
  EXPECT_EQ(forward[1].values, (Values{12321, 46225, 98596, 169744}));
  for (const Activation gated : kGated) {  // of gates so large f(g) = g
    problem.activation = gated;
    const Outputs halved = problem.run(GetParam());
    EXPECT_EQ(halved[0].values, (Values{111, 215, 314, 412}));
    EXPECT_EQ(halved[1].values, (Values{111 * 215, 314 * 412}));
  }
  problem.activation = Activation::kRelu2;
  problem.epilogue = GemmEpilogue::kActivationGradient;
  problem.before = {2, -1, 0.5, 4};
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{444, 0, 314, 3296}));
  problem.epilogue = GemmEpilogue::kNone;
  problem.x = {kNan, 2, 3, 4, 5, kInf};
  const Values c = problem.run(GetParam())[0].values;
  EXPECT_TRUE(expect_same_specials("c", c, {kNan, 215, kNan, -kInf}));
}

INSTANTIATE_TEST_SUITE_P(Tables, TimesPacked, testing::ValuesIn(setups_under_test()), setup_name);

TEST(TimesPackedErrors, NameTheOperand) {
  const Buffer six(Values(6), DType::kF32), two(Values(2), DType::kF32);
  const Buffer four(Values(4), DType::kF32), other(Values(4), DType::kF32);
  const Buffer bytes(Values(64), DType::kU8), wide(Values(4), DType::kF64);
  const TimesPackedArgs good{
      .x = six.view({2, 3}),
      .packed = {.shape = {.rows = 2, .cols = 3}, .storage = bytes.view({64})},
      .c = four.view({2, 2})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.x = {}; }, "[times_packed] x is missing");
  expect_refused(
      good, [](auto& args) { args.packed = {}; }, "[times_packed] the packed matrix is missing");
  expect_refused(
      good, [&](auto& args) { args.x = six.view({6}); },
      "[times_packed] x and c must be matrices, got (6), (2, 2)");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = six.view({3, 2});
      },
      "[times_packed] x must have shape (2, 2), got (3, 2)");
  expect_refused(
      good, [](auto& args) { args.packed.shape.rows = 3; },
      "[times_packed] the packed matrix must be 2 x 3, got 3 x 3");
  expect_refused(
      good, [&](auto& args) { args.packed.storage = six.view({6}); },
      "[times_packed] storage must be u8, got f32");
  expect_refused(
      good,
      [&](auto& args) {
        args.c = wide.view({2, 2});
      },
      "[times_packed] c must be f32 like x, got f64");
  expect_refused(
      good, [&](auto& args) { args.bias = six.view({6}); },
      "[times_packed] bias must have shape (2), got (6)");
  expect_refused(
      good,
      [&](auto& args) {
        args.addend = two.view({1, 2});
      },
      "[times_packed] addend must have shape (2, 2), got (1, 2)");
  TimesPackedArgs active = good;
  active.epilogue = GemmEpilogue::kActivation;
  active.before = other.view({2, 2});
  EXPECT_NO_THROW(validate(active));
  expect_refused(
      active, [](auto& args) { args.before = {}; }, "[times_packed] before is missing");
  expect_refused(
      active,
      [&](auto& args) {
        args.before = six.view({2, 3});
      },
      "[times_packed] before must have shape (2, 2), got (2, 3)");
  expect_refused(
      active, [](auto& args) { args.activation = Activation::kSwiglu; },
      "[times_packed] the packed matrix must be 4 x 3, got 2 x 3");
  TimesPackedArgs gated = active;
  gated.activation = Activation::kSwiglu;
  gated.c = two.view({2, 1});
  EXPECT_NO_THROW(validate(gated));
  expect_refused(
      gated, [](auto& args) { args.before = {}; }, "[times_packed] before is missing");
  expect_refused(
      gated, [](auto& args) { args.keeps_slope = true; },
      "[times_packed] a gated activation has two slopes: keeps_slope must be false");
  expect_refused(
      gated,
      [&](auto& args) {
        args.before = two.view({2, 1});
      },
      "[times_packed] before must have shape (2, 2), got (2, 1)");
  expect_refused(
      gated, [](auto& args) { args.packed.shape.rows = 1; },
      "[times_packed] the packed matrix must be 2 x 3, got 1 x 3");
  expect_refused(
      gated, [&](auto& args) { args.bias = six.view({6}); },
      "[times_packed] bias must have shape (2), got (6)");
  expect_refused(
      active,
      [](auto& args) {
        args.activation = Activation::kGeglu;
        args.epilogue = GemmEpilogue::kActivationGradient;
      },
      "[times_packed] the gradient of a gated activation is no epilogue");
  KernelTable without = reference_table();
  without.times_packed = nullptr;
  expect_error([&] { times_packed(Context(without, 1), good); },
               "[times_packed] the reference backend does not have this operation");
}

}  // namespace
}  // namespace twill
