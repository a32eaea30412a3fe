// SPDX-License-Identifier: Apache-2.0
#include "ops/update/moment_change.h"

#include <cmath>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct ChangeProblem {
  Values grad, v;
  double beta2 = 0.95, grad_scale = 0.3;

  Outputs run(const Setup& setup) const {
    const Shape shape{static_cast<std::int64_t>(grad.size())};
    const Buffer grad_in = setup.wide(grad), v_in = setup.wide(v);
    const Buffer sum = setup.buffer(rubbish(1), DType::kF64);
    moment_change(*setup.context(), {.grad = grad_in.view(shape),
                                     .v = v_in.view(shape),
                                     .sum = sum.view({1}),
                                     .beta2 = beta2,
                                     .grad_scale = grad_scale});
    return {{"sum", sum.values()}};
  }
};

}  // namespace

testing::AssertionResult check_moment_change(const Setup& setup) {
  Random random;
  for (const std::int64_t count : {0, 1, 255, 256, 257, 1024, 1300, 70'001}) {
    ChangeProblem problem{random.normal(count), random.normal(count)};
    for (double& v : problem.v) v = static_cast<float>(v * v);
    if (auto result = judge_exact(setup, problem); !result)
      return result << " for " << count << " elements";
  }
  return testing::AssertionSuccess();
}

namespace {

class MomentChange : public TableTest {};

TEST_P(MomentChange, IsExact) { EXPECT_TRUE(check_moment_change(GetParam())); }

// Σ |v' - v| with v' = beta2 v + (1 - beta2) g².
TEST_P(MomentChange, ByHand) {
  ChangeProblem problem{.grad = {2, 0, -4}, .v = {4, 8, 1}};
  problem.beta2 = 0.75;
  problem.grad_scale = 0.5;
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{0.25 * (3 + 8 + 3)}));
}

TEST_P(MomentChange, ShowsWhatIsNotFinite) {
  ChangeProblem problem{.grad = Values(300, 1.0), .v = Values(300, 1.0)};
  problem.grad[280] = std::nan("");
  EXPECT_TRUE(std::isnan(problem.run(GetParam())[0].values[0]));
}

INSTANTIATE_TEST_SUITE_P(Tables, MomentChange, testing::ValuesIn(setups_with_device()), setup_name);

TEST(MomentChangeErrors, NameTheProblem) {
  const Buffer x(Values(6), DType::kF32), sum(Values(1), DType::kF64);
  const MomentChangeArgs good{.grad = x.view({2, 3}), .v = x.view({2, 3}), .sum = sum.view({1})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [&](auto& args) { args.v = x.view({6}); },
      "[moment_change] v must have shape (2, 3), got (6)");
  expect_refused(
      good, [&](auto& args) { args.sum = x.view({6}); },
      "[moment_change] sum must be f64, got f32");
  expect_refused(
      good,
      [&](auto& args) {
        args.sum = sum.view({1, 1});
      },
      "[moment_change] sum must have shape (1), got (1, 1)");
}

}  // namespace
}  // namespace twill
