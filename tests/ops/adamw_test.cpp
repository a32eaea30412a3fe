// SPDX-License-Identifier: Apache-2.0
#include "ops/adamw.h"

#include <cmath>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct AdamwProblem {
  Values weight, grad, m, v;
  double lr = 1e-3;
  double weight_decay = 0.1;
  double grad_scale = 0.5;
  std::int64_t step = 3;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  bool freeze_v = false;

  Outputs run(const Setup& setup) const {
    const Shape shape{static_cast<std::int64_t>(weight.size())};
    const Buffer weight_out = setup.wide(weight), grad_in = setup.wide(grad);
    const Buffer m_out = setup.wide(m), v_out = setup.wide(v);
    adamw(*setup.context(), {.weight = weight_out.view(shape),
                             .grad = grad_in.view(shape),
                             .m = m_out.view(shape),
                             .v = v_out.view(shape),
                             .lr = lr,
                             .beta1 = beta1,
                             .beta2 = beta2,
                             .eps = eps,
                             .weight_decay = weight_decay,
                             .grad_scale = grad_scale,
                             .step = step,
                             .freeze_v = freeze_v});
    EXPECT_EQ(grad_in.values(), grad) << "the gradient is not changed";
    return {{"weight", weight_out.values()}, {"m", m_out.values()}, {"v", v_out.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    using std::sqrt;
    Naive<N> out(3);
    const N correction1 = N(1.0 - std::pow(beta1, static_cast<double>(step)));
    const N correction2 = N(1.0 - std::pow(beta2, static_cast<double>(step)));
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const N g = N(grad_scale) * N(grad[i]), w = N(weight[i]);
      const N new_m = N(beta1) * N(m[i]) + N(1.0 - beta1) * g;
      const N new_v = freeze_v ? N(v[i]) : N(beta2) * N(v[i]) + N(1.0 - beta2) * g * g;
      const N v_hat = freeze_v ? new_v : new_v / correction2;
      const N update = new_m / correction1 / (sqrt(v_hat) + N(eps));
      out[0].push_back(w - N(lr) * (update + N(weight_decay) * w));
      out[1].push_back(new_m);
      out[2].push_back(new_v);
    }
    return out;
  }
};

// The longest way, to the weight, has twelve roundings; most weigh lr times less than the result.
constexpr TwoOracleRule kRule{.floor = 8.0};

AdamwProblem random_problem(Random& random, std::int64_t count, double spread = 1.0) {
  AdamwProblem problem{.weight = random.normal(count),
                       .grad = random.normal(count, spread),
                       .m = random.normal(count, spread),
                       .v = random.normal(count, spread)};
  for (double& v : problem.v) v = static_cast<float>(v * v);
  return problem;
}

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
  expect_refused(
      good, [](auto& args) { args.step = 0; }, "[adamw] step must be 1 or more, got 0");
}

}  // namespace
}  // namespace twill
