// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/fill.h"

#include <limits>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct FillProblem {
  std::int64_t count;
  double value;

  Outputs run(const Setup& setup) const {
    const Buffer x = setup.buffer(rubbish(count));
    fill(*setup.context(), {.x = x.view({count}), .value = value});
    return {{"x", x.values(), x.dtype()}};
  }
};

}  // namespace

testing::AssertionResult check_fill(const Setup& setup) {
  for (const std::int64_t count : kAwkwardSizes) {
    for (const double value : {0.0, -0.0, 1.0, 0.1, 1e-45, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
      if (auto result = judge_exact(setup, FillProblem{count, value}); !result)
        return result << fmt::format(" for {} elements of {}", count, value);
    }
  }
  return testing::AssertionSuccess();
}

namespace {

class Fill : public TableTest {};

TEST_P(Fill, IsExact) { EXPECT_TRUE(check_fill(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Tables, Fill, testing::ValuesIn(setups_with_device()), setup_name);

TEST(FillReference, SetsEveryElement) {
  EXPECT_EQ((FillProblem{3, 0.1}.run(oracle())[0].values), (Values{0.1, 0.1, 0.1}));
  EXPECT_EQ((FillProblem{1, 0.1}.run(exact_oracle())[0].values), Values{0.1f});
}

TEST(FillErrors, NameTheOperand) {
  const Buffer tokens(Values(2), DType::kI32);
  expect_refused(
      FillArgs{}, [](auto&) {}, "[fill] x is missing");
  expect_refused(
      FillArgs{.x = tokens.view({2})}, [](auto&) {}, "[fill] x must be f32, bf16 or f64, got i32");
}

}  // namespace
}  // namespace twill
