// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/sum_squares.h"

#include <algorithm>
#include <limits>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct SumSquaresProblem {
  Values x;

  Outputs run(const Setup& setup) const {
    const Buffer x_in = setup.wide(x), sum = setup.buffer(rubbish(1), DType::kF64);
    sum_squares(*setup.context(),
                {.x = x_in.view({static_cast<std::int64_t>(x.size())}), .sum = sum.view({1})});
    return {{"sum", sum.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    N sum{};
    for (const double v : x) sum += N(v) * N(v);
    return {{sum}};
  }

  // n 2^-53 sum, as the header says; as much again for the oracle's own sum, also in f64.
  ErrorModel model() const {
    return {.terms = 2.0 * static_cast<double>(x.size()), .eps_acc = kEpsF64, .eps_out = 0.0};
  }
};

testing::AssertionResult check_one(const Setup& setup, const SumSquaresProblem& problem) {
  return judge(setup, problem, problem.model())
         << fmt::format(" for {} elements", problem.x.size());
}

}  // namespace

testing::AssertionResult check_sum_squares(const Setup& setup) {
  Random random;
  for (const std::int64_t count : kAwkwardSizes)
    if (count > 0)
      if (auto result = check_one(setup, {random.normal(count)}); !result) return result;
  return check_one(setup, {random.normal(100'003)});
}

namespace {

class SumSquares : public TableTest {};

TEST_P(SumSquares, MatchesOracle) { EXPECT_TRUE(check_sum_squares(GetParam())); }

// Squares of f32 neither overflow nor vanish in f64.
TEST_P(SumSquares, MatchesOracleOnAwkwardData) {
  Random random;
  for (const double spread : {1e-40, 1e-25, 1e30})
    EXPECT_TRUE(check_one(GetParam(), {random.normal(67, spread)})) << spread;
}

TEST_P(SumSquares, OfNothingIsZero) {
  EXPECT_EQ(SumSquaresProblem{}.run(GetParam())[0].values, Values{0.0});
}

TEST_P(SumSquares, ShowsNanAndInf) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {inf, -inf, nan}) {
    for (const std::size_t at : {0u, 15u, 32u}) {
      SumSquaresProblem problem{Values(33, 1.0)};
      problem.x[at] = bad;
      EXPECT_TRUE(judge_specials(GetParam(), problem)) << bad << " at " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, SumSquares, testing::ValuesIn(setups_with_device()), setup_name);

TEST(SumSquaresReference, AddsByHand) {
  EXPECT_EQ((SumSquaresProblem{{3, -4, 12}}.run(oracle())[0].values), Values{169.0});
}

TEST(SumSquaresErrors, NameTheOperand) {
  const Buffer six(Values(6), DType::kF32), one(Values(1), DType::kF64);
  const Buffer two(Values(2), DType::kF64);
  const SumSquaresArgs good{.x = six.view({6}), .sum = one.view({1})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.x = {}; }, "[sum_squares] x is missing");
  expect_refused(
      good, [&](auto& args) { args.sum = six.view({6}); },
      "[sum_squares] sum must be f64, got f32");
  expect_refused(
      good, [&](auto& args) { args.sum = two.view({2}); },
      "[sum_squares] sum must have shape (1), got (2)");
}

}  // namespace
}  // namespace twill
