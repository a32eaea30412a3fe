// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/column_sum.h"

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct ColumnSumProblem {
  std::int64_t rows, cols;
  bool accumulate;
  Values x, sum;

  Outputs run(const Setup& setup) const {
    const Buffer x_in = setup.buffer(x), sum_out = setup.wide(sum);
    column_sum(
        *setup.context(),
        {.x = x_in.view({rows, cols}), .sum = sum_out.view({cols}), .accumulate = accumulate});
    return {{"sum", sum_out.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> sums;
    for (std::int64_t c = 0; c < cols; ++c) {
      N total = accumulate ? N(sum[c]) : N(0.0);
      for (std::int64_t r = 0; r < rows; ++r) total += N(x[r * cols + c]);
      sums.push_back(total);
    }
    return {sums};
  }

  // (rows + 1) eps Σ|terms|, as the header says.
  ErrorModel model() const { return {.terms = static_cast<double>(rows + 1), .eps_out = 0.0}; }
};

}  // namespace

testing::AssertionResult check_column_sum(const Setup& setup) {
  Random random;
  for (const std::int64_t cols : kAwkwardSizes) {
    for (const std::int64_t rows : {0, 1, 3, 8, 17, 65, 300}) {
      for (const bool accumulate : {false, true}) {
        if (rows == 0 && !accumulate) continue;  // zero, tested by hand
        const ColumnSumProblem problem{rows, cols, accumulate, random.normal(rows * cols),
                                       random.normal(cols)};
        if (auto result = judge(setup, problem, problem.model()); !result)
          return result << fmt::format(" for x ({}, {}), accumulate {}", rows, cols, accumulate);
      }
    }
  }
  return testing::AssertionSuccess();
}

namespace {

class ColumnSum : public TableTest {};

TEST_P(ColumnSum, MatchesOracle) { EXPECT_TRUE(check_column_sum(GetParam())); }

// Widths at which a device kernel takes rows several at a time, one at a time, and in two parts;
// with enough rows that every block has several.
TEST_P(ColumnSum, MatchesOracleOnWideRows) {
  Random random;
  const std::int64_t rows = GetParam().table->copy_in != nullptr ? 3000 : 20;
  for (const std::int64_t cols : {1600, 4800, 6400, 8200}) {
    const ColumnSumProblem problem{rows, cols, true, random.normal(rows * cols),
                                   random.normal(cols)};
    EXPECT_TRUE(judge(GetParam(), problem, problem.model())) << cols << " columns";
  }
}

TEST_P(ColumnSum, OfNoRowsIsZero) {
  const ColumnSumProblem problem{0, 3, false, {}, rubbish(3)};
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{0, 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Tables, ColumnSum, testing::ValuesIn(setups_with_device()), setup_name);

TEST(ColumnSumReference, AddsByHand) {
  ColumnSumProblem problem{2, 3, false, {1, 2, 3, 10, 20, 30}, {100, 200, 300}};
  EXPECT_EQ(problem.run(oracle())[0].values, (Values{11, 22, 33}));
  problem.accumulate = true;
  EXPECT_EQ(problem.run(oracle())[0].values, (Values{111, 222, 333}));
}

TEST(ColumnSumErrors, NameTheOperand) {
  const Buffer six(Values(6), DType::kF32), two(Values(2), DType::kF32);
  const ColumnSumArgs good{.x = six.view({3, 2}), .sum = two.view({2})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.sum = {}; }, "[column_sum] sum is missing");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = six.view({2, 3});
      },
      "[column_sum] sum must have shape (3), got (2)");
}

}  // namespace
}  // namespace twill
