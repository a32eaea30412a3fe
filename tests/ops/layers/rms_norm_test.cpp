// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/rms_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "ops/layers/norm_sums.h"
#include "support/expect_error.h"
#include "support/finite_difference.h"
#include "support/judge.h"

namespace twill {
namespace {

struct ForwardProblem {
  std::int64_t rows, cols;
  Values x, weight;
  double eps = 1e-5;

  Outputs run(const Setup& setup) const {
    const Shape shape{rows, cols};
    const Buffer x_in = setup.buffer(x), weight_in = setup.buffer(weight);
    const Buffer y = setup.buffer(rubbish(rows * cols)), rstd = setup.wide(rubbish(rows));
    rms_norm_forward(*setup.context(), {.x = x_in.view(shape),
                                        .weight = weight_in.view({cols}),
                                        .y = y.view(shape),
                                        .rstd = rstd.view({rows}),
                                        .eps = eps});
    return {{"y", y.values(), y.dtype()}, {"rstd", rstd.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    using std::sqrt;
    Naive<N> out(2);
    for (std::int64_t r = 0; r < rows; ++r) {
      const double* row = x.data() + r * cols;
      N squares{};
      for (std::int64_t c = 0; c < cols; ++c) squares += N(row[c]) * N(row[c]);
      const N rstd = N(1.0) / sqrt(squares / N(static_cast<double>(cols)) + N(eps));
      for (std::int64_t c = 0; c < cols; ++c) out[0].push_back(N(row[c]) * rstd * N(weight[c]));
      out[1].push_back(rstd);
    }
    return out;
  }
};

struct BackwardProblem {
  std::int64_t rows, cols;
  Values x, weight, rstd, dy;
  Values dx, dweight;  // what they held
  Values dx_sum = {};  // likewise; empty: absent
  bool accumulate_dx = false;
  bool accumulate = false;
  bool in_place = false;  // dx is the memory of dy

  void hold(double value) {
    for (Values* sums : {&dweight, &dx_sum}) std::ranges::fill(*sums, value);
  }

  // Without dx_sum, which is judged by the dx beside it: two oracles know nothing of its rounding.
  Outputs run(const Setup& setup) const {
    Outputs outputs = run_all(setup);
    outputs.pop_back();
    return outputs;
  }

  Outputs run_all(const Setup& setup) const {
    const Shape shape{rows, cols};
    const Buffer x_in = setup.buffer(x), weight_in = setup.buffer(weight);
    const Buffer rstd_in = setup.wide(rstd), dy_in = setup.buffer(dy);
    const Buffer own_dx = setup.buffer(dx), dweight_out = setup.wide(dweight);
    const Buffer dx_sum_out = setup.wide(dx_sum);
    const Buffer& dx_out = in_place ? dy_in : own_dx;
    rms_norm_backward(*setup.context(), {.x = x_in.view(shape),
                                         .weight = weight_in.view({cols}),
                                         .rstd = rstd_in.view({rows}),
                                         .dy = dy_in.view(shape),
                                         .dx = dx_out.view(shape),
                                         .dweight = dweight_out.view({cols}),
                                         .dx_sum = optional_view(dx_sum_out, {cols}),
                                         .accumulate_dx = accumulate_dx,
                                         .accumulate = accumulate});
    return {{"dx", dx_out.values(), dx_out.dtype()},
            {"dweight", dweight_out.values()},
            {"dx_sum", dx_sum_out.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> out_dx, out_dweight;
    for (const double v : dweight) out_dweight.push_back(N(accumulate ? v : 0.0));
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto n = [&](std::int64_t c) { return N(x[r * cols + c]) * N(rstd[r]); };
      const auto g = [&](std::int64_t c) { return N(dy[r * cols + c]) * N(weight[c]); };
      N sum{};
      for (std::int64_t c = 0; c < cols; ++c) {
        sum += g(c) * n(c);
        out_dweight[c] += N(dy[r * cols + c]) * n(c);
      }
      for (std::int64_t c = 0; c < cols; ++c) {
        const N value = N(rstd[r]) * (g(c) - n(c) * (sum / N(static_cast<double>(cols))));
        out_dx.push_back(accumulate_dx ? N(dx[r * cols + c]) + value : value);
      }
    }
    return {out_dx, out_dweight};
  }
};

// Square root, division, four products and two sums, each one rounding.
constexpr TwoOracleRule kRule{.floor = 8.0};

ForwardProblem random_forward(Random& random, std::int64_t rows, std::int64_t cols,
                              double spread = 1.0, double offset = 0.0) {
  return {rows, cols, random.normal(rows * cols, spread, offset), random.normal(cols)};
}

BackwardProblem random_backward(Random& random, const ForwardProblem& forward) {
  const std::int64_t rows = forward.rows, cols = forward.cols;
  return {.rows = rows,
          .cols = cols,
          .x = forward.x,
          .weight = forward.weight,
          .rstd = forward.run(exact_oracle())[1].values,
          .dy = random.normal(rows * cols),
          .dx = random.normal(rows * cols),
          .dweight = random.normal(cols),
          .dx_sum = random.normal(cols),
          .accumulate = true};
}

testing::AssertionResult check_forward(const Setup& setup, const ForwardProblem& problem) {
  return judge(setup, problem, kRule) << fmt::format(" for x ({}, {})", problem.rows, problem.cols);
}

testing::AssertionResult check_backward(const Setup& setup, const BackwardProblem& problem) {
  auto result = judge(setup, problem, kRule);
  if (result) result = check_dx_sum(setup, problem);
  return result << fmt::format(" for x ({}, {}), accumulate {} (dx) {} (sums), in place {}",
                               problem.rows, problem.cols, problem.accumulate_dx,
                               problem.accumulate, problem.in_place);
}

}  // namespace

testing::AssertionResult check_rms_norm_forward(const Setup& setup) {
  Random random;
  for (const std::int64_t cols : kAwkwardSizes) {
    if (cols == 0) continue;
    for (const std::int64_t rows : {0, 1, 3, 17}) {
      const ForwardProblem problem = random_forward(random, rows, cols);
      if (auto result = check_forward(setup, problem); !result) return result;
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_rms_norm_backward(const Setup& setup) {
  Random random;
  for (const std::int64_t cols : kAwkwardSizes) {
    if (cols == 0) continue;
    for (const std::int64_t rows : {0, 1, 3, 65}) {
      for (const int mode : {0, 1, 2}) {
        BackwardProblem problem = random_backward(random, random_forward(random, rows, cols));
        problem.accumulate_dx = mode == 1;
        problem.in_place = mode == 2;
        for (const bool accumulate : {true, false}) {
          if (rows == 0 && !accumulate) continue;  // zeros, tested by hand
          problem.accumulate = accumulate;
          if (auto result = check_backward(setup, problem); !result) return result;
          problem.dx_sum.clear();  // absent the second time
        }
      }
    }
  }
  return testing::AssertionSuccess();
}

namespace {

class RmsNorm : public TableTest {};

TEST_P(RmsNorm, ForwardMatchesOracle) { EXPECT_TRUE(check_rms_norm_forward(GetParam())); }
TEST_P(RmsNorm, BackwardMatchesOracle) { EXPECT_TRUE(check_rms_norm_backward(GetParam())); }

// Widths at which device kernels change how they hold a row; with enough rows for blocks that own
// several.
TEST_P(RmsNorm, MatchesOracleOnWideRows) {
  Random random;
  const bool on_device = GetParam().table->copy_in != nullptr;
  for (const std::int64_t cols : {768, 1600, 2056, 4096, 8192, 8200}) {
    const std::int64_t rows = on_device ? 300 : 2;
    const ForwardProblem forward = random_forward(random, rows, cols);
    EXPECT_TRUE(check_forward(GetParam(), forward)) << cols;
    EXPECT_TRUE(check_backward(GetParam(), random_backward(random, forward))) << cols;
  }
}

TEST_P(RmsNorm, MatchesOracleOnAwkwardData) {
  Random random;
  struct Data {
    double spread, offset;
  };
  for (const auto& [spread, offset] : {Data{1.0, -1000.0}, {1e4, 0.0}, {1e-20, 0.0}}) {
    const ForwardProblem forward = random_forward(random, 5, 67, spread, offset);
    EXPECT_TRUE(check_forward(GetParam(), forward)) << spread << " around " << offset;
    EXPECT_TRUE(check_backward(GetParam(), random_backward(random, forward)))
        << spread << " around " << offset;
  }
}

// Rows enough for several per team of warps; 67 columns take the other path of device kernels.
TEST_P(RmsNorm, OverwritesSumsOrAddsToThem) {
  Random random;
  for (const std::int64_t cols : {67, 768}) {
    BackwardProblem problem = random_backward(random, random_forward(random, 65, cols));
    for (const bool accumulate_dx : {false, true}) {
      problem.accumulate_dx = accumulate_dx;
      EXPECT_TRUE(expect_overwrites(GetParam(), problem)) << cols << " columns";
    }
    problem.accumulate = false;
    EXPECT_TRUE(check_dx_sum(GetParam(), problem)) << cols << " columns";
  }
  EXPECT_TRUE(
      expect_no_rows_are_zero(GetParam(), random_backward(random, random_forward(random, 0, 9))));
}

TEST_P(RmsNorm, SumsDxLikeColumnSum) {
  if (GetParam().table->copy_in != nullptr) GTEST_SKIP() << "devices have orders of their own";
  Random random;
  BackwardProblem problem = random_backward(random, random_forward(random, 65, 130));
  for (const bool accumulate : {false, true}) {
    problem.accumulate = accumulate;
    EXPECT_TRUE(expect_bits_of_column_sum(GetParam(), problem));
  }
}

TEST_P(RmsNorm, OneBadRowStaysAlone) {
  Random random;
  ForwardProblem problem = random_forward(random, 3, 33);
  problem.x[40] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(judge_specials(GetParam(), problem));
}

INSTANTIATE_TEST_SUITE_P(Tables, RmsNorm, testing::ValuesIn(setups_with_device()), setup_name);

class RmsNormReference : public SeededTest {};

TEST_F(RmsNormReference, NormalisesByHand) {
  const ForwardProblem problem{1, 2, {1, 7}, {2, 3}, /*eps=*/39.0};  // mean of squares 25, rstd 1/8
  const Outputs out = problem.run(oracle());
  EXPECT_EQ(out[0].values, (Values{0.25, 2.625}));
  EXPECT_EQ(out[1].values, Values{0.125});
}

TEST_F(RmsNormReference, GradientMatchesFiniteDifferences) {
  Random random;
  const std::int64_t rows = 3, cols = 7;
  const ForwardProblem forward = random_forward(random, rows, cols);
  const Values dy = random.normal(rows * cols);
  const BackwardProblem backward{.rows = rows,
                                 .cols = cols,
                                 .x = forward.x,
                                 .weight = forward.weight,
                                 .rstd = forward.run(oracle())[1].values,
                                 .dy = dy,
                                 .dx = rubbish(rows * cols),
                                 .dweight = Values(cols, 0.0)};
  const Outputs gradients = backward.run(oracle());
  const auto loss_of = [&](Values ForwardProblem::*operand) {
    return [&, operand](const Values& at) {
      ForwardProblem moved = forward;
      moved.*operand = at;
      return weighted_sum(moved.run(oracle())[0].values, dy);
    };
  };
  EXPECT_TRUE(expect_gradient("dx", loss_of(&ForwardProblem::x), forward.x, gradients[0].values));
  EXPECT_TRUE(expect_gradient("dweight", loss_of(&ForwardProblem::weight), forward.weight,
                              gradients[1].values));
}

TEST(RmsNormErrors, NameTheOperand) {
  const Buffer six({1, 2, 3, 4, 5, 6}, DType::kF32), three({1, 2, 3}, DType::kF32);
  const Buffer two({1, 2}, DType::kF32), none({}, DType::kF32);
  const View x = six.view({2, 3}), cols = three.view({3}), rows = two.view({2});
  const RmsNormForwardArgs forward{.x = x, .weight = cols, .y = x, .rstd = rows};
  EXPECT_NO_THROW(validate(forward));
  expect_refused(
      forward, [](auto& args) { args.rstd = {}; }, "[rms_norm] rstd is missing");
  expect_refused(
      forward,
      [&](auto& args) {
        args.x = none.view({2, 0});
      },
      "[rms_norm] the last axis of x must not be empty");
  expect_refused(
      forward, [&](auto& args) { args.weight = rows; },
      "[rms_norm] weight must have shape (3), got (2)");
  expect_refused(
      forward, [&](auto& args) { args.y = six.view({6}); },
      "[rms_norm] y must have shape (2, 3), got (6)");
  expect_refused(
      forward, [&](auto& args) { args.rstd = cols; },
      "[rms_norm] rstd must have shape (2), got (3)");

  const RmsNormBackwardArgs backward{
      .x = x, .weight = cols, .rstd = rows, .dy = x, .dx = x, .dweight = cols};
  EXPECT_NO_THROW(validate(backward));
  expect_refused(
      backward, [](auto& args) { args.dx = {}; }, "[rms_norm] dx is missing");
  expect_refused(
      backward,
      [&](auto& args) {
        args.x = none.view({2, 0});
      },
      "[rms_norm] the last axis of x must not be empty");
  expect_refused(
      backward, [&](auto& args) { args.weight = rows; },
      "[rms_norm] weight must have shape (3), got (2)");
  expect_refused(
      backward, [&](auto& args) { args.rstd = cols; },
      "[rms_norm] rstd must have shape (2), got (3)");
  expect_refused(
      backward, [&](auto& args) { args.dy = six.view({6}); },
      "[rms_norm] dy must have shape (2, 3), got (6)");
  expect_refused(
      backward, [&](auto& args) { args.dx = six.view({6}); },
      "[rms_norm] dx must have shape (2, 3), got (6)");
  expect_refused(
      backward, [&](auto& args) { args.dweight = rows; },
      "[rms_norm] dweight must have shape (3), got (2)");
  expect_refused(
      backward, [&](auto& args) { args.dx_sum = rows; },
      "[rms_norm] dx_sum must have shape (3), got (2)");
}

}  // namespace
}  // namespace twill
