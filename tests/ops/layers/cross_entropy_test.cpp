// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/finite_difference.h"
#include "support/judge.h"

namespace twill {
namespace {

enum class Gradient { kNone, kSeparate, kInPlace };

struct LossProblem {
  std::int64_t rows, vocabulary;
  Values logits, targets;
  double scale = 1.0;
  Gradient gradient = Gradient::kSeparate;

  Outputs run(const Setup& setup) const {
    const Shape shape{rows, vocabulary};
    const Buffer logits_in = setup.buffer(logits), loss = setup.wide(rubbish(rows));
    const Buffer targets_in = setup.buffer(targets, DType::kI32);
    const Buffer own = setup.buffer(rubbish(rows * vocabulary));
    const Buffer& dlogits = gradient == Gradient::kInPlace ? logits_in : own;
    cross_entropy(*setup.context(),
                  {.logits = logits_in.view(shape),
                   .targets = targets_in.view({rows}),
                   .loss = loss.view({rows}),
                   .dlogits = gradient == Gradient::kNone ? View() : dlogits.view(shape),
                   .scale = scale});
    if (gradient == Gradient::kNone) return {{"loss", loss.values()}};
    return {{"loss", loss.values()}, {"dlogits", dlogits.values(), dlogits.dtype()}};
  }

  template <class N>
  void naive_row(std::int64_t r, Naive<N>& out) const {
    using std::exp, std::log;
    const double* row = logits.data() + r * vocabulary;
    const auto target = static_cast<std::int64_t>(targets[r]);
    const N largest = N(*std::max_element(row, row + vocabulary));
    // Both are given exactly: the difference has one rounding, however large they are.
    const auto below = [&](std::int64_t v) { return fresh(N(row[v]) - largest); };
    N sum{};
    for (std::int64_t v = 0; v < vocabulary; ++v) sum += exp(below(v));
    out[0].push_back(target < 0 ? N(0.0) : largest + log(sum) - N(row[target]));
    for (std::int64_t v = 0; v < vocabulary; ++v) {
      const N p = exp(below(v)) / sum;
      out[1].push_back(target < 0 ? N(0.0) : N(scale) * (v == target ? p - N(1.0) : p));
    }
  }

  template <class N>
  Naive<N> naive() const {
    Naive<N> out(2);
    for (std::int64_t r = 0; r < rows; ++r) naive_row(r, out);
    return out;
  }
};

// Subtraction, exp, sum, quotient or logarithm, subtraction, product: one rounding each.
constexpr TwoOracleRule kRule{.floor = 6.0};

// The first row has a target; others may be ignored.
LossProblem random_problem(Random& random, std::int64_t rows, std::int64_t vocabulary) {
  LossProblem problem{rows, vocabulary, random.normal(rows * vocabulary, 2.0),
                      random.integers(rows, -1, vocabulary - 1)};
  if (rows > 0) problem.targets[0] = std::abs(problem.targets[0]);
  return problem;
}

testing::AssertionResult check_one(const Setup& setup, const LossProblem& problem) {
  return judge(setup, problem, kRule)
         << fmt::format(" for logits ({}, {}), gradient {}", problem.rows, problem.vocabulary,
                        static_cast<int>(problem.gradient));
}

// An ignored row has loss 0 and gradient 0, whatever its logits.
testing::AssertionResult check_ignored_rows(const Setup& setup) {
  LossProblem problem{3, 2, {1, 2, std::numeric_limits<double>::quiet_NaN(), 3, 4, 5}, {0, -1, 1}};
  const Outputs out = problem.run(setup);
  if (auto result = expect_same_bits("loss", {out[0].values[1]}, {0.0}); !result) return result;
  const Values& d = out[1].values;
  return expect_same_bits("dlogits", {d[2], d[3]}, {0.0, 0.0});
}

// The largest logit's id: the lowest of equals, -1 for ignored rows and where the loss is no number.
// 40 logits: equals stand in different vectors. In place, so the gradient must not come first.
testing::AssertionResult check_best(const Setup& setup) {
  constexpr std::int64_t kRows = 5, kVocabulary = 40;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Values x(kRows * kVocabulary, -1.0);
  x[7] = x[35] = 2.0;             // row 0: two equals
  x[2 * kVocabulary + 39] = 1.0;  // row 2: the last; row 1: all equal
  x[3 * kVocabulary + 3] = kNan;  // row 3: no number; row 4: ignored
  const Buffer logits = setup.buffer(x), loss = setup.wide(rubbish(kRows));
  const Buffer targets = setup.buffer({7, 1, 0, 2, -1}, DType::kI32);
  const Buffer best = setup.buffer(Values(kRows, 9), DType::kI32);
  cross_entropy(*setup.context(), {.logits = logits.view({kRows, kVocabulary}),
                                   .targets = targets.view({kRows}),
                                   .loss = loss.view({kRows}),
                                   .dlogits = logits.view({kRows, kVocabulary}),
                                   .best = best.view({kRows})});
  return expect_same_bits("best", best.values(), {7, 0, 39, -1, -1});
}

}  // namespace

testing::AssertionResult check_cross_entropy(const Setup& setup) {
  Random random;
  for (const std::int64_t vocabulary : kAwkwardSizes) {
    if (vocabulary < 2) continue;
    for (const std::int64_t rows : {0, 1, 3, 17}) {
      for (const Gradient gradient : {Gradient::kNone, Gradient::kSeparate, Gradient::kInPlace}) {
        LossProblem problem = random_problem(random, rows, vocabulary);
        problem.gradient = gradient;
        problem.scale = 1.0 / 3.0;
        if (auto result = check_one(setup, problem); !result) return result;
      }
    }
  }
  if (auto result = check_best(setup); !result) return result;
  return check_ignored_rows(setup);
}

namespace {

class CrossEntropy : public TableTest {};

TEST_P(CrossEntropy, MatchesOracle) { EXPECT_TRUE(check_cross_entropy(GetParam())); }

TEST_P(CrossEntropy, SurvivesOneDominantLogit) {
  Random random;
  for (const double dominant : {30.0, 90.0, 1e4, -1e4}) {
    LossProblem problem = random_problem(random, 3, 65);
    problem.logits[7] = problem.logits[100] = dominant;
    problem.logits = drawn(problem.logits);
    EXPECT_TRUE(check_one(GetParam(), problem)) << dominant;
  }
}

// Rows of a length at which kernels change how they hold them.
TEST_P(CrossEntropy, MatchesOracleOnLongRows) {
  Random random;
  for (const std::int64_t vocabulary : {8192, 12288, 24576, 32776, 50304})
    EXPECT_TRUE(check_one(GetParam(), random_problem(random, 2, vocabulary))) << vocabulary;
}

TEST_P(CrossEntropy, IgnoresACommonOffset) {
  Random random;
  LossProblem problem = random_problem(random, 3, 65);
  problem.logits = random.normal(3 * 65, 1.0, 1000.0);
  EXPECT_TRUE(check_one(GetParam(), problem));
}

TEST_P(CrossEntropy, IsZeroForAVocabularyOfOne) {
  const LossProblem problem{2, 1, {3, -4}, {0, 0}};
  const Outputs out = problem.run(GetParam());
  EXPECT_EQ(out[0].values, (Values{0, 0}));
  EXPECT_EQ(out[1].values, (Values{0, 0}));
}

TEST_P(CrossEntropy, OneBadRowStaysAlone) {
  Random random;
  LossProblem problem = random_problem(random, 3, 33);
  problem.targets = {1, 2, 3};
  problem.logits[40] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(judge_specials(GetParam(), problem));
}

INSTANTIATE_TEST_SUITE_P(Tables, CrossEntropy, testing::ValuesIn(setups_with_device()), setup_name);

class CrossEntropyReference : public SeededTest {};

TEST_F(CrossEntropyReference, KnowsTwoLogitsByHand) {
  // Weights 1 and 3: probabilities 1/4 and 3/4.
  const LossProblem problem{1, 2, {0.0, std::log(3.0)}, {0}, /*scale=*/2.0};
  const Outputs out = problem.run(oracle());
  EXPECT_DOUBLE_EQ(out[0].values[0], std::log(4.0));
  EXPECT_DOUBLE_EQ(out[1].values[0], -1.5);
  EXPECT_DOUBLE_EQ(out[1].values[1], 1.5);
}

TEST_F(CrossEntropyReference, UniformLogitsCostTheLogOfTheVocabulary) {
  const LossProblem problem{1, 50, Values(50, 7.0), {49}};
  EXPECT_DOUBLE_EQ(problem.run(oracle())[0].values[0], std::log(50.0));
}

TEST_F(CrossEntropyReference, GradientMatchesFiniteDifferences) {
  Random random;
  LossProblem problem = random_problem(random, 4, 9);
  problem.targets = {0, 8, -1, 4};
  problem.scale = 0.25;
  const auto loss = [&](const Values& at) {
    LossProblem moved = problem;
    moved.logits = at;
    return weighted_sum(moved.run(oracle())[0].values, Values(4, 0.25));
  };
  EXPECT_TRUE(expect_gradient("dlogits", loss, problem.logits, problem.run(oracle())[1].values));
}

TEST(CrossEntropyErrors, NameTheOperand) {
  const Buffer six(Values(6), DType::kF32), two(Values(2), DType::kF32);
  const Buffer targets({0, 1}, DType::kI32), three({0, 1, 2}, DType::kI32), none({}, DType::kF32);
  const CrossEntropyArgs good{.logits = six.view({2, 3}),
                              .targets = targets.view({2}),
                              .loss = two.view({2}),
                              .dlogits = six.view({2, 3})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.loss = {}; }, "[cross_entropy] loss is missing");
  expect_refused(
      good, [&](auto& args) { args.targets = two.view({2}); },
      "[cross_entropy] targets must be i32, got f32");
  expect_refused(
      good,
      [&](auto& args) {
        args.logits = none.view({2, 0});
      },
      "[cross_entropy] the vocabulary must not be empty");
  expect_refused(
      good, [&](auto& args) { args.targets = three.view({3}); },
      "[cross_entropy] targets must have shape (2), got (3)");
  expect_refused(
      good, [&](auto& args) { args.loss = six.view({6}); },
      "[cross_entropy] loss must have shape (2), got (6)");
  expect_refused(
      good,
      [&](auto& args) {
        args.dlogits = six.view({3, 2});
      },
      "[cross_entropy] dlogits must have shape (2, 3), got (3, 2)");
  expect_refused(
      good, [&](auto& args) { args.best = two.view({2}); },
      "[cross_entropy] best must be i32, got f32");
  expect_refused(
      good, [&](auto& args) { args.best = three.view({3}); },
      "[cross_entropy] best must have shape (2), got (3)");
}

}  // namespace
}  // namespace twill
