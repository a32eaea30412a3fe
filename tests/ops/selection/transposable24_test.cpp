// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/transposable24.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"
#include "support/sparse_data.h"

namespace twill {
namespace {

struct Transposable24Problem {
  Values x;
  Shape shape;
  TransposableMethod method = TransposableMethod::kExact;

  Outputs run(const Setup& setup) const {
    const Buffer x_in = setup.wide(x);
    const Buffer mask = setup.buffer(mask_rubbish(shape.num_elements()), DType::kU8);
    transposable24(*setup.context(),
                   {.x = x_in.view(shape), .mask = mask.view(shape), .method = method});
    return {{"mask", mask.values()}};
  }
};

testing::AssertionResult check_shape(const Setup& setup, Random& random, Shape shape) {
  const std::int64_t count = shape.num_elements();
  for (const Values& x :
       {random.normal(count), random.integers(count, -2, 2), awkward_values(random, count)}) {
    for (const auto method : {TransposableMethod::kExact, TransposableMethod::kGreedyKeep}) {
      auto result = judge_exact(setup, Transposable24Problem{x, shape, method});
      if (!result)
        return result << fmt::format(" for {}, method {}", to_string(shape),
                                     static_cast<int>(method));
    }
  }
  return testing::AssertionSuccess();
}

// Small differences between large numbers: rounded scores tie although exact ones do not.
Values near_ties(Random& random, std::int64_t count) {
  Values x = random.integers(count, 0, 3);
  for (double& value : x) value = 0x1p23 + value;
  return x;
}

}  // namespace

testing::AssertionResult check_transposable24(const Setup& setup) {
  Random random;
  for (const Shape& shape : {Shape{0, 8}, Shape{4, 0}, Shape{4, 4}, Shape{8, 12}, Shape{4, 60},
                             Shape{4, 64}, Shape{12, 68}, Shape{4, 132}, Shape{40, 516}})
    if (auto result = check_shape(setup, random, shape); !result) return result;
  return judge_exact(setup, Transposable24Problem{near_ties(random, 16 * 400), {16, 400}});
}

namespace {

class Transposable24 : public TableTest {};

TEST_P(Transposable24, IsExact) { EXPECT_TRUE(check_transposable24(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Tables, Transposable24, testing::ValuesIn(setups_with_device()),
                         setup_name);

TEST(Transposable24Patterns, AreTheNinetyLegalOnesInDescendingOrder) {
  const auto& patterns = transposable_patterns();
  EXPECT_EQ(patterns.front(), 0b1100'1100'0011'0011);
  EXPECT_EQ(patterns[1], 0b1100'1010'0101'0011);
  EXPECT_EQ(patterns.back(), 0b0011'0011'1100'1100);
  EXPECT_EQ(std::set(patterns.begin(), patterns.end()).size(), 90u);
  EXPECT_TRUE(std::ranges::is_sorted(patterns, std::greater()));
}

TEST(Transposable24Reference, RunsInDouble) {
  Values x(16, 1.0);
  x[2] = x[3] = 1.0 + 1e-12;  // equal in f32
  EXPECT_EQ((Transposable24Problem{x, {4, 4}}.run(oracle())[0].values),
            (Values{0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ((Transposable24Problem{x, {4, 4}}.run(exact_oracle())[0].values),
            (Values{1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(Transposable24Errors, NameTheProblem) {
  const Buffer x(Values(24), DType::kF32), mask(Values(24), DType::kU8);
  const Buffer square(Values(16), DType::kF32), square_mask(Values(16), DType::kU8);
  const Transposable24Args good{.x = square.view({4, 4}), .mask = square_mask.view({4, 4})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.x = {}; }, "[transposable24] x is missing");
  expect_refused(
      good, [](auto& args) { args.mask = {}; }, "[transposable24] mask is missing");
  expect_refused(
      good,
      [&](auto& args) {
        args.mask = mask.view({4, 6});
      },
      "[transposable24] mask must have shape (4, 4), got (4, 6)");
  expect_refused(
      good, [&](auto& args) { args.x = square.view({16}), args.mask = square_mask.view({16}); },
      "[transposable24] x must have shape (R, C), got (16)");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = x.view({3, 8}), args.mask = mask.view({3, 8});
      },
      "[transposable24] rows must be a multiple of 4, got 3");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = x.view({4, 6}), args.mask = mask.view({4, 6});
      },
      "[transposable24] cols must be a multiple of 4, got 6");
}

}  // namespace
}  // namespace twill
