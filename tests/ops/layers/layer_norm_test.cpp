// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/layer_norm.h"

#include <algorithm>
#include <cmath>

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
  Values bias = {};  // empty: absent
  double eps = 1e-5;

  Outputs run(const Setup& setup) const {
    const Shape shape{rows, cols};
    const Buffer x_in = setup.buffer(x), weight_in = setup.buffer(weight);
    const Buffer bias_in = setup.buffer(bias), y = setup.buffer(rubbish(rows * cols));
    const Buffer mean = setup.wide(rubbish(rows)), rstd = setup.wide(rubbish(rows));
    layer_norm_forward(*setup.context(), {.x = x_in.view(shape),
                                          .weight = weight_in.view({cols}),
                                          .bias = optional_view(bias_in, {cols}),
                                          .y = y.view(shape),
                                          .mean = mean.view({rows}),
                                          .rstd = rstd.view({rows}),
                                          .eps = eps});
    return {{"y", y.values(), y.dtype()}, {"mean", mean.values()}, {"rstd", rstd.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    using std::sqrt;
    Naive<N> out(3);
    const N count = N(static_cast<double>(cols));
    for (std::int64_t r = 0; r < rows; ++r) {
      const double* row = x.data() + r * cols;
      N sum{}, squares{};
      for (std::int64_t c = 0; c < cols; ++c) sum += N(row[c]);
      const N mean = sum / count;
      for (std::int64_t c = 0; c < cols; ++c) {
        // An error of the mean reaches the variance to second order only.
        const N centred = fresh(N(row[c]) - mean);
        squares += centred * centred;
      }
      const N rstd = N(1.0) / sqrt(squares / count + N(eps));
      for (std::int64_t c = 0; c < cols; ++c) {
        const N y = (N(row[c]) - mean) * rstd * N(weight[c]);
        out[0].push_back(bias.empty() ? y : y + N(bias[c]));
      }
      out[1].push_back(mean);
      out[2].push_back(rstd);
    }
    return out;
  }
};

struct BackwardProblem {
  std::int64_t rows, cols;
  Values x, weight, mean, rstd, dy;
  Values dx, dweight, dbias;  // what they held; dbias empty: absent
  Values dx_sum = {};         // likewise
  bool accumulate_dx = false;
  bool accumulate = false;
  bool in_place = false;  // dx is the memory of dy

  void hold(double value) {
    for (Values* sums : {&dweight, &dbias, &dx_sum}) std::ranges::fill(*sums, value);
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
    const Buffer mean_in = setup.wide(mean), rstd_in = setup.wide(rstd);
    const Buffer dy_in = setup.buffer(dy), own_dx = setup.buffer(dx);
    const Buffer dweight_out = setup.wide(dweight), dbias_out = setup.wide(dbias);
    const Buffer dx_sum_out = setup.wide(dx_sum);
    const Buffer& dx_out = in_place ? dy_in : own_dx;
    layer_norm_backward(*setup.context(), {.x = x_in.view(shape),
                                           .weight = weight_in.view({cols}),
                                           .mean = mean_in.view({rows}),
                                           .rstd = rstd_in.view({rows}),
                                           .dy = dy_in.view(shape),
                                           .dx = dx_out.view(shape),
                                           .dweight = dweight_out.view({cols}),
                                           .dbias = optional_view(dbias_out, {cols}),
                                           .dx_sum = optional_view(dx_sum_out, {cols}),
                                           .accumulate_dx = accumulate_dx,
                                           .accumulate = accumulate});
    return {{"dx", dx_out.values(), dx_out.dtype()},
            {"dweight", dweight_out.values()},
            {"dbias", dbias_out.values()},
            {"dx_sum", dx_sum_out.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> out_dx, out_dweight, out_dbias;
    for (const double v : dweight) out_dweight.push_back(N(accumulate ? v : 0.0));
    for (const double v : dbias) out_dbias.push_back(N(accumulate ? v : 0.0));
    const N count = N(static_cast<double>(cols));
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto n = [&](std::int64_t c) {
        return fresh(N(x[r * cols + c]) - N(mean[r])) * N(rstd[r]);
      };
      const auto g = [&](std::int64_t c) { return N(dy[r * cols + c]) * N(weight[c]); };
      N sum_g{}, sum_gn{};
      for (std::int64_t c = 0; c < cols; ++c) {
        sum_g += g(c);
        sum_gn += g(c) * n(c);
        out_dweight[c] += N(dy[r * cols + c]) * n(c);
        if (!dbias.empty()) out_dbias[c] += N(dy[r * cols + c]);
      }
      for (std::int64_t c = 0; c < cols; ++c) {
        const N value = N(rstd[r]) * (g(c) - sum_g / count - n(c) * (sum_gn / count));
        out_dx.push_back(accumulate_dx ? N(dx[r * cols + c]) + value : value);
      }
    }
    return {out_dx, out_dweight, out_dbias};
  }
};

// Subtraction, square root, division, two products and a sum, each at most one rounding, with the
// sum behind the mean and the variance.
constexpr TwoOracleRule kRule{.floor = 8.0};

ForwardProblem random_forward(Random& random, std::int64_t rows, std::int64_t cols, bool bias,
                              double spread = 1.0, double offset = 0.3) {
  return {.rows = rows,
          .cols = cols,
          .x = random.normal(rows * cols, spread, offset),
          .weight = random.normal(cols),
          .bias = bias ? random.normal(cols) : Values()};
}

// Statistics as the forward pass keeps them: rounded to f32.
BackwardProblem random_backward(Random& random, const ForwardProblem& forward, bool bias) {
  const Outputs kept = forward.run(exact_oracle());
  const std::int64_t rows = forward.rows, cols = forward.cols;
  return {.rows = rows,
          .cols = cols,
          .x = forward.x,
          .weight = forward.weight,
          .mean = kept[1].values,
          .rstd = kept[2].values,
          .dy = random.normal(rows * cols),
          .dx = random.normal(rows * cols),
          .dweight = random.normal(cols),
          .dbias = bias ? random.normal(cols) : Values(),
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

testing::AssertionResult check_layer_norm_forward(const Setup& setup) {
  Random random;
  for (const std::int64_t cols : kAwkwardSizes) {
    if (cols == 0) continue;
    for (const std::int64_t rows : {0, 1, 3, 17}) {
      for (const bool bias : {false, true}) {
        if (cols == 1 && !bias) continue;  // one centred value is zero
        const ForwardProblem problem = random_forward(random, rows, cols, bias);
        if (auto result = check_forward(setup, problem); !result) return result;
      }
    }
  }
  // A common offset far larger than the spread: only a variance of centred values survives it.
  return check_forward(setup, random_forward(random, 3, 130, true, 1.0, 1000.0)) << ", offset 1000";
}

testing::AssertionResult check_layer_norm_backward(const Setup& setup) {
  Random random;
  for (const std::int64_t cols : kAwkwardSizes) {
    if (cols == 0) continue;
    for (const std::int64_t rows : {0, 1, 3, 65}) {
      for (const int mode : {0, 1, 2}) {
        if (cols == 1 && mode != 1) continue;  // one centred value has no gradient
        const ForwardProblem forward = random_forward(random, rows, cols, true);
        BackwardProblem problem = random_backward(random, forward, mode != 0);
        problem.accumulate_dx = mode == 1;
        problem.in_place = mode == 2;
        for (const bool accumulate : {true, false}) {
          if ((rows == 0 || cols == 1) && !accumulate) continue;  // zeros, tested by hand
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

class LayerNorm : public TableTest {};

TEST_P(LayerNorm, ForwardMatchesOracle) { EXPECT_TRUE(check_layer_norm_forward(GetParam())); }
TEST_P(LayerNorm, BackwardMatchesOracle) { EXPECT_TRUE(check_layer_norm_backward(GetParam())); }

// Widths at which device kernels change how they hold a row; with enough rows for blocks that own
// several.
TEST_P(LayerNorm, MatchesOracleOnWideRows) {
  Random random;
  const bool on_device = GetParam().table->copy_in != nullptr;
  for (const std::int64_t cols : {768, 1600, 2056, 4096, 8192, 8200}) {
    const std::int64_t rows = on_device ? 300 : 2;
    const ForwardProblem forward = random_forward(random, rows, cols, true);
    EXPECT_TRUE(check_forward(GetParam(), forward)) << cols;
    EXPECT_TRUE(check_backward(GetParam(), random_backward(random, forward, true))) << cols;
  }
}

TEST_P(LayerNorm, MatchesOracleOnAwkwardData) {
  Random random;
  struct Data {
    double spread, offset;
  };
  for (const auto& [spread, offset] :
       {Data{1.0, -1000.0}, {1e-3, 30.0}, {1e4, 0.0}, {1e-20, 0.0}}) {
    const ForwardProblem forward = random_forward(random, 5, 67, true, spread, offset);
    EXPECT_TRUE(check_forward(GetParam(), forward)) << spread << " around " << offset;
    EXPECT_TRUE(check_backward(GetParam(), random_backward(random, forward, true)))
        << spread << " around " << offset;
  }
}

// Rows enough for several per team of warps; 67 columns take the other path of device kernels.
TEST_P(LayerNorm, OverwritesSumsOrAddsToThem) {
  Random random;
  for (const std::int64_t cols : {67, 768}) {
    BackwardProblem problem = random_backward(random, random_forward(random, 65, cols, true), true);
    for (const bool accumulate_dx : {false, true}) {
      problem.accumulate_dx = accumulate_dx;
      EXPECT_TRUE(expect_overwrites(GetParam(), problem)) << cols << " columns";
    }
    problem.accumulate = false;
    EXPECT_TRUE(check_dx_sum(GetParam(), problem)) << cols << " columns";
  }
  EXPECT_TRUE(expect_no_rows_are_zero(
      GetParam(), random_backward(random, random_forward(random, 0, 9, true), true)));
}

TEST_P(LayerNorm, SumsDxLikeColumnSum) {
  if (GetParam().table->copy_in != nullptr) GTEST_SKIP() << "devices have orders of their own";
  Random random;
  BackwardProblem problem = random_backward(random, random_forward(random, 65, 130, true), true);
  for (const bool accumulate : {false, true}) {
    problem.accumulate = accumulate;
    EXPECT_TRUE(expect_bits_of_column_sum(GetParam(), problem));
  }
}

TEST_P(LayerNorm, OneBadRowStaysAlone) {
  Random random;
  ForwardProblem problem = random_forward(random, 3, 33, true);
  problem.x[40] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(judge_specials(GetParam(), problem));
}

INSTANTIATE_TEST_SUITE_P(Tables, LayerNorm, testing::ValuesIn(setups_with_device()), setup_name);

class LayerNormReference : public SeededTest {};

TEST_F(LayerNormReference, NormalisesByHand) {
  const ForwardProblem problem{.rows = 1,
                               .cols = 4,
                               .x = {2, 4, 4, 6},
                               .weight = {1, 1, 2, 3},
                               .bias = {0, 10, 0, 0},
                               .eps = 2.0};  // mean 4, variance 2, so rstd 1/2
  const Outputs out = problem.run(oracle());
  EXPECT_EQ(out[0].values, (Values{-1, 10, 0, 3}));
  EXPECT_EQ(out[1].values, Values{4});
  EXPECT_EQ(out[2].values, Values{0.5});
}

TEST_F(LayerNormReference, GradientMatchesFiniteDifferences) {
  Random random;
  const std::int64_t rows = 3, cols = 7;
  const ForwardProblem forward = random_forward(random, rows, cols, true);
  const Outputs kept = forward.run(oracle());
  const Values dy = random.normal(rows * cols), none(cols, 0.0);
  const Outputs gradients = BackwardProblem{rows,
                                            cols,
                                            forward.x,
                                            forward.weight,
                                            kept[1].values,
                                            kept[2].values,
                                            dy,
                                            rubbish(rows * cols),
                                            none,
                                            none}
                                .run(oracle());
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
  EXPECT_TRUE(
      expect_gradient("dbias", loss_of(&ForwardProblem::bias), forward.bias, gradients[2].values));
}

TEST_F(LayerNormReference, AddsToWhatGradientsHeld) {
  Random random;
  BackwardProblem problem = random_backward(random, random_forward(random, 2, 5, true), true);
  problem.accumulate_dx = problem.accumulate = true;
  const Outputs added = problem.run(oracle());
  const Values dx = problem.dx, dweight = problem.dweight, dbias = problem.dbias;
  problem.dx.assign(dx.size(), 0.0);
  problem.dweight.assign(5, 0.0);
  problem.dbias.assign(5, 0.0);
  const Outputs alone = problem.run(oracle());
  EXPECT_NEAR(added[0].values[3], alone[0].values[3] + dx[3], 8 * kEpsF64);
  EXPECT_NEAR(added[1].values[3], alone[1].values[3] + dweight[3], 8 * kEpsF64);
  EXPECT_NEAR(added[2].values[3], alone[2].values[3] + dbias[3], 8 * kEpsF64);
}

TEST(LayerNormErrors, NameTheOperand) {
  const Buffer six({1, 2, 3, 4, 5, 6}, DType::kF32), three({1, 2, 3}, DType::kF32);
  const Buffer two({1, 2}, DType::kF32), none({}, DType::kF32);
  const View x = six.view({2, 3}), cols = three.view({3}), rows = two.view({2});
  const LayerNormForwardArgs forward{
      .x = x, .weight = cols, .bias = cols, .y = x, .mean = rows, .rstd = rows};
  EXPECT_NO_THROW(validate(forward));
  expect_refused(
      forward, [](auto& args) { args.x = {}; }, "[layer_norm] x is missing");
  expect_refused(
      forward,
      [&](auto& args) {
        args.x = none.view({2, 0});
      },
      "[layer_norm] the last axis of x must not be empty");
  expect_refused(
      forward, [&](auto& args) { args.weight = rows; },
      "[layer_norm] weight must have shape (3), got (2)");
  expect_refused(
      forward, [&](auto& args) { args.bias = rows; },
      "[layer_norm] bias must have shape (3), got (2)");
  expect_refused(
      forward,
      [&](auto& args) {
        args.y = six.view({3, 2});
      },
      "[layer_norm] y must have shape (2, 3), got (3, 2)");
  expect_refused(
      forward, [&](auto& args) { args.mean = cols; },
      "[layer_norm] mean must have shape (2), got (3)");
  expect_refused(
      forward, [&](auto& args) { args.rstd = cols; },
      "[layer_norm] rstd must have shape (2), got (3)");

  const LayerNormBackwardArgs backward{.x = x,
                                       .weight = cols,
                                       .mean = rows,
                                       .rstd = rows,
                                       .dy = x,
                                       .dx = x,
                                       .dweight = cols,
                                       .dbias = cols};
  EXPECT_NO_THROW(validate(backward));
  expect_refused(
      backward, [](auto& args) { args.dweight = {}; }, "[layer_norm] dweight is missing");
  expect_refused(
      backward,
      [&](auto& args) {
        args.x = none.view({2, 0});
      },
      "[layer_norm] the last axis of x must not be empty");
  expect_refused(
      backward, [&](auto& args) { args.weight = rows; },
      "[layer_norm] weight must have shape (3), got (2)");
  expect_refused(
      backward, [&](auto& args) { args.mean = cols; },
      "[layer_norm] mean must have shape (2), got (3)");
  expect_refused(
      backward, [&](auto& args) { args.rstd = cols; },
      "[layer_norm] rstd must have shape (2), got (3)");
  expect_refused(
      backward, [&](auto& args) { args.dy = six.view({6}); },
      "[layer_norm] dy must have shape (2, 3), got (6)");
  expect_refused(
      backward, [&](auto& args) { args.dx = six.view({6}); },
      "[layer_norm] dx must have shape (2, 3), got (6)");
  expect_refused(
      backward, [&](auto& args) { args.dweight = rows; },
      "[layer_norm] dweight must have shape (3), got (2)");
  expect_refused(
      backward, [&](auto& args) { args.dx_sum = rows; },
      "[layer_norm] dx_sum must have shape (3), got (2)");
  expect_refused(
      backward, [&](auto& args) { args.dbias = rows; },
      "[layer_norm] dbias must have shape (3), got (2)");
}

}  // namespace
}  // namespace twill
