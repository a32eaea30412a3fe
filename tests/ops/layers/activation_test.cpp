// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/activation.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/finite_difference.h"
#include "support/judge.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Activation kKinds[] = {Activation::kGelu,  Activation::kGeluTanh,
                                 Activation::kRelu2, Activation::kSwiglu,
                                 Activation::kGeglu, Activation::kGegluTanh};

std::int64_t width(Activation kind, std::int64_t cols) { return is_gated(kind) ? 2 * cols : cols; }

// f and f' as one would first write them.
template <class N>
struct NaiveF {
  N y, slope;
};

template <class N>
NaiveF<N> naive_gelu(N x) {
  using std::erf, std::exp;
  const N phi = N(0.5) * (N(1.0) + erf(x * N(1.0 / std::numbers::sqrt2)));
  const N density = exp(N(-0.5) * x * x) * N(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return {x * phi, phi + x * density};
}

template <class N>
NaiveF<N> naive_gelu_tanh(N x) {
  using std::tanh;
  const N c = N(std::sqrt(2.0 / std::numbers::pi)), half = N(0.5), one = N(1.0);
  const N t = tanh(c * (x + N(0.044715) * x * x * x));
  const N inner = c * (one + N(3.0 * 0.044715) * x * x);
  return {half * x * (one + t), half * (one + t) + half * x * (one - t * t) * inner};
}

template <class N>
NaiveF<N> naive_swish(N x) {
  using std::exp;
  const N one = N(1.0), sigmoid = one / (one + exp(N(0.0) - x));
  return {x * sigmoid, sigmoid * (one + x * (one - sigmoid))};
}

template <class N>
NaiveF<N> naive_f(Activation kind, N x) {
  if (kind == Activation::kGeluTanh || kind == Activation::kGegluTanh) return naive_gelu_tanh(x);
  if (kind == Activation::kSwiglu) return naive_swish(x);
  if (kind == Activation::kRelu2)
    return N(0.0) < x ? NaiveF<N>{x * x, x + x} : NaiveF<N>{N(0.0), N(0.0)};
  return naive_gelu(x);
}

struct ForwardProblem {
  Activation kind;
  std::int64_t rows, cols;  // of y
  Values x;

  Outputs run(const Setup& setup) const {
    const Buffer x_in = setup.buffer(x), y = setup.buffer(rubbish(rows * cols));
    activation_forward(
        *setup.context(),
        {.kind = kind, .x = x_in.view({rows, width(kind, cols)}), .y = y.view({rows, cols})});
    return {{"y", y.values(), y.dtype()}};
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> y;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        const std::int64_t at = r * width(kind, cols) + c;
        const N first = N(x[at]);
        y.push_back(is_gated(kind) ? first * naive_f(kind, N(x[at + cols])).y
                                   : naive_f(kind, first).y);
      }
    }
    return {y};
  }
};

enum class Alias { kNone, kDxIsX, kDxIsDy };

struct BackwardProblem {
  Activation kind;
  std::int64_t rows, cols;  // of dy
  Values x, dy;
  Alias alias = Alias::kNone;

  Outputs run(const Setup& setup) const {
    const Shape wide{rows, width(kind, cols)};
    const Buffer x_in = setup.buffer(x), dy_in = setup.buffer(dy);
    const Buffer own = setup.buffer(rubbish(wide.num_elements()));
    const Buffer& dx = alias == Alias::kDxIsX ? x_in : alias == Alias::kDxIsDy ? dy_in : own;
    activation_backward(
        *setup.context(),
        {.kind = kind, .x = x_in.view(wide), .dy = dy_in.view({rows, cols}), .dx = dx.view(wide)});
    return {{"dx", dx.values(), dx.dtype()}};
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> dx(x.size());
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        const std::int64_t at = r * width(kind, cols) + c;
        const N first = N(x[at]), d = N(dy[r * cols + c]);
        const NaiveF<N> f = naive_f(kind, is_gated(kind) ? N(x[at + cols]) : first);
        dx[at] = is_gated(kind) ? d * f.y : d * f.slope;
        if (is_gated(kind)) dx[at + cols] = d * first * f.slope;
      }
    }
    return {dx};
  }
};

// Four eps |y| for the approximation of erf, tanh or exp, as the header says, and the roundings of
// the four products and sums around it.
constexpr TwoOracleRule kRule{.floor = 4.0, .eps_out = 4.0};

// A positive first column: relu2 of negative numbers alone would be zero everywhere.
Values inputs(Random& random, std::int64_t count, double spread) {
  Values x = random.normal(count, spread);
  if (!x.empty()) x[0] = std::abs(x[0]);
  return x;
}

// Both tails far beyond where f is flat, the bend around zero, and numbers below the normal range.
Values sweep() {
  Values x;
  for (int i = -400; i <= 400; ++i) x.push_back(static_cast<float>(0.05 * i));
  for (const double v : {1e-3, 1e-10, 1e-40, 50.0, 1e4}) {
    x.push_back(static_cast<float>(v));
    x.push_back(static_cast<float>(-v));
  }
  return x;
}

testing::AssertionResult check_forward(const Setup& setup, const ForwardProblem& problem) {
  return judge(setup, problem, kRule)
         << fmt::format(" for kind {}, y ({}, {})", static_cast<int>(problem.kind), problem.rows,
                        problem.cols);
}

testing::AssertionResult check_backward(const Setup& setup, const BackwardProblem& problem) {
  return judge(setup, problem, kRule)
         << fmt::format(" for kind {}, dy ({}, {}), alias {}", static_cast<int>(problem.kind),
                        problem.rows, problem.cols, static_cast<int>(problem.alias));
}

}  // namespace

testing::AssertionResult check_activation_forward(const Setup& setup) {
  Random random;
  for (const Activation kind : kKinds) {
    for (const std::int64_t cols : kAwkwardSizes) {
      for (const std::int64_t rows : {0, 1, 3}) {
        const Values x = inputs(random, rows * width(kind, cols), 2.0);
        if (auto result = check_forward(setup, {kind, rows, cols, x}); !result) return result;
      }
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_activation_backward(const Setup& setup) {
  Random random;
  for (const Activation kind : kKinds) {
    for (const std::int64_t cols : kAwkwardSizes) {
      for (const Alias alias : {Alias::kNone, Alias::kDxIsX, Alias::kDxIsDy}) {
        if (alias == Alias::kDxIsDy && is_gated(kind)) continue;
        const Values x = inputs(random, 3 * width(kind, cols), 2.0), dy = random.normal(3 * cols);
        auto result = check_backward(setup, {kind, 3, cols, x, dy, alias});
        if (!result) return result;
      }
    }
  }
  return testing::AssertionSuccess();
}

namespace {

class ActivationOp : public TableTest {};

TEST_P(ActivationOp, ForwardMatchesOracle) { EXPECT_TRUE(check_activation_forward(GetParam())); }
TEST_P(ActivationOp, BackwardMatchesOracle) { EXPECT_TRUE(check_activation_backward(GetParam())); }

TEST_P(ActivationOp, MatchesOracleInTheTails) {
  Random random;
  const Values tails = drawn(sweep());
  const auto cols = static_cast<std::int64_t>(tails.size());
  for (const Activation kind : kKinds) {
    Values x = is_gated(kind) ? random.normal(cols) : Values();
    x.insert(x.end(), tails.begin(), tails.end());
    EXPECT_TRUE(check_forward(GetParam(), {kind, 1, cols, x}));
    EXPECT_TRUE(check_backward(GetParam(), {kind, 1, cols, x, random.normal(cols)}));
  }
}

TEST_P(ActivationOp, HasExactLimits) {
  for (const Activation kind : kKinds) {
    Values x = is_gated(kind) ? Values(9, 2.0) : Values();
    for (const double v : {-kInf, kInf, kNan, 1.0, 2.0, -kInf, kInf, kNan, -3.0}) x.push_back(v);
    const ForwardProblem problem{kind, 1, 9, x};
    EXPECT_TRUE(judge_specials(GetParam(), problem)) << "kind " << static_cast<int>(kind);
    const Values y = problem.run(GetParam())[0].values;
    EXPECT_EQ(y[0], 0.0) << "kind " << static_cast<int>(kind);
    EXPECT_EQ(y[5], 0.0) << "kind " << static_cast<int>(kind);
  }
}

TEST_P(ActivationOp, BackwardPropagatesNan) {
  for (const Activation kind : kKinds) {
    Values x = is_gated(kind) ? Values{1.0, 1.0, 1.0} : Values();
    for (const double v : {1.0, kNan, 1.0}) x.push_back(v);
    const BackwardProblem problem{kind, 1, 3, x, {1.0, 1.0, kNan}};
    EXPECT_TRUE(judge_specials(GetParam(), problem)) << "kind " << static_cast<int>(kind);
  }
}

// The bits of backward where dy is 1, in place of x too, and y as without it.
TEST_P(ActivationOp, LeavesItsSlope) {
  const twill::Setup& setup = GetParam();
  if (!setup.context()->kernels().keeps_slopes) GTEST_SKIP() << "keeps no slopes";
  Random random;
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu2})
    for (const std::int64_t cols : kAwkwardSizes)
      for (const bool in_place : {false, true}) {
        const Shape shape{3, cols};
        Values argument = inputs(random, 3 * cols, 2.0);
        if (cols > 2) argument[0] = kNan, argument[1] = -kInf, argument[2] = kInf;
        const Buffer x = setup.buffer(argument), y = setup.buffer(rubbish(3 * cols)),
                     apart = setup.buffer(rubbish(3 * cols));
        const Buffer& slope = in_place ? x : apart;
        activation_forward(
            *setup.context(),
            {.kind = kind, .x = x.view(shape), .y = y.view(shape), .slope = slope.view(shape)});
        const BackwardProblem backward{kind, 3, cols, argument, Values(argument.size(), 1.0)};
        const ForwardProblem forward{kind, 3, cols, argument};
        EXPECT_TRUE(expect_same_bits("y", y.values(), forward.run(setup)[0].values));
        EXPECT_TRUE(expect_same_bits("slope", slope.values(), backward.run(setup)[0].values));
      }
}

INSTANTIATE_TEST_SUITE_P(Tables, ActivationOp, testing::ValuesIn(setups_with_device()), setup_name);

class ActivationReference : public SeededTest {};

// Values from tables: Φ(1) = 0.8413447460685429, sigmoid(1) = 0.7310585786300049, and gelu_new(1)
// as PyTorch gives it.
TEST_F(ActivationReference, KnowsTextbookValues) {
  const auto f = [](Activation kind, Values x) {
    return ForwardProblem{kind, 1, 1, std::move(x)}.run(oracle())[0].values[0];
  };
  EXPECT_DOUBLE_EQ(f(Activation::kGelu, {1.0}), 0.8413447460685429);
  EXPECT_DOUBLE_EQ(f(Activation::kGelu, {-1.0}), -1.0 + 0.8413447460685429);
  EXPECT_DOUBLE_EQ(f(Activation::kGeluTanh, {1.0}), 0.8411919906082768);
  EXPECT_DOUBLE_EQ(f(Activation::kRelu2, {3.0}), 9.0);
  EXPECT_DOUBLE_EQ(f(Activation::kRelu2, {-3.0}), 0.0);
  EXPECT_DOUBLE_EQ(f(Activation::kSwiglu, {10.0, 1.0}), 7.310585786300049);
  EXPECT_DOUBLE_EQ(f(Activation::kGeglu, {10.0, 1.0}), 8.413447460685429);
  EXPECT_DOUBLE_EQ(f(Activation::kGegluTanh, {10.0, 1.0}), 8.411919906082768);
}

TEST_F(ActivationReference, SplitsRowsIntoValueAndGate) {
  const Values x{1, 2, 50, 60, 3, 4, 70, 80};  // gates so large that f(g) = g
  const ForwardProblem problem{Activation::kSwiglu, 2, 2, x};
  EXPECT_EQ(problem.run(oracle())[0].values, (Values{50, 120, 210, 320}));
}

TEST_F(ActivationReference, GradientMatchesFiniteDifferences) {
  Random random;
  for (const Activation kind : kKinds) {
    const std::int64_t rows = 2, cols = 9;
    Values x = random.normal(rows * width(kind, cols), 1.5);
    for (double& v : x) v += v > 0.0 ? 0.01 : -0.01;  // relu2 has a kink in f' at zero
    const Values dy = random.normal(rows * cols);
    const auto loss = [&](const Values& at) {
      return weighted_sum(ForwardProblem{kind, rows, cols, at}.run(oracle())[0].values, dy);
    };
    const Values dx = BackwardProblem{kind, rows, cols, x, dy}.run(oracle())[0].values;
    EXPECT_TRUE(expect_gradient("dx", loss, x, dx)) << "kind " << static_cast<int>(kind);
  }
}

TEST(ActivationErrors, NameTheOperand) {
  const Buffer six({1, 2, 3, 4, 5, 6}, DType::kF32), three({1, 2, 3}, DType::kF32);
  const View wide = six.view({1, 6}), narrow = three.view({1, 3});
  const ActivationForwardArgs forward{.kind = Activation::kSwiglu, .x = wide, .y = narrow};
  EXPECT_NO_THROW(validate(forward));
  expect_refused(
      forward, [](auto& args) { args.y = {}; }, "[activation] y is missing");
  expect_refused(
      forward, [](auto& args) { args.kind = Activation::kGelu; },
      "[activation] x must have the rows of y and 1 time(s) its columns, got (1, 6) and "
      "(1, 3)");
  expect_refused(
      forward, [&](auto& args) { args.y = wide; },
      "[activation] x must have the rows of y and 2 time(s) its columns");
  expect_refused(
      forward, [&](auto& args) { args.slope = wide; },
      "[activation] a gated activation has two slopes");
  expect_refused(
      forward, [&](auto& args) { args.slope = narrow; },
      "[activation] slope must have shape (1, 6), got (1, 3)");
  const ActivationBackwardArgs backward{
      .kind = Activation::kGeglu, .x = wide, .dy = narrow, .dx = wide};
  EXPECT_NO_THROW(validate(backward));
  expect_refused(
      backward, [](auto& args) { args.dy = {}; }, "[activation] dy is missing");
  expect_refused(
      backward, [](auto& args) { args.kind = Activation::kRelu2; },
      "[activation] x must have the rows of dy and 1 time(s) its columns");
  expect_refused(
      backward, [&](auto& args) { args.dx = narrow; },
      "[activation] dx must have shape (1, 6), got (1, 3)");
}

}  // namespace
}  // namespace twill
