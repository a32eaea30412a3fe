// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/select24.h"

#include <limits>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"
#include "support/sparse_data.h"

namespace twill {
namespace {

struct Select24Problem {
  Values x;
  Shape shape;
  GroupAxis axis = GroupAxis::kWithinRow;

  Outputs run(const Setup& setup) const {
    const Buffer x_in = setup.buffer(x);
    const Buffer mask = setup.buffer(mask_rubbish(x_count()), DType::kU8);
    select24(*setup.context(), {.x = x_in.view(shape), .mask = mask.view(shape), .axis = axis});
    return {{"mask", mask.values()}};
  }
  std::int64_t x_count() const { return static_cast<std::int64_t>(x.size()); }
};

testing::AssertionResult check_one(const Setup& setup, const Select24Problem& problem) {
  return judge_exact(setup, problem) << fmt::format(" for {}, axis {}", to_string(problem.shape),
                                                    static_cast<int>(problem.axis));
}

testing::AssertionResult check_shape(const Setup& setup, Random& random, Shape shape,
                                     GroupAxis axis) {
  const std::int64_t count = shape.num_elements();
  for (const Values& x : {random.normal(count), drawn(awkward_values(random, count))})
    if (auto result = check_one(setup, {x, shape, axis}); !result) return result;
  return testing::AssertionSuccess();
}

constexpr std::int64_t kQuads[] = {0, 1, 2, 3, 5, 15, 16, 17, 33, 257};

}  // namespace

testing::AssertionResult check_select24(const Setup& setup) {
  Random random;
  for (const std::int64_t quads : kQuads) {
    for (const std::int64_t other : {1, 7, 18}) {
      auto result = check_shape(setup, random, {other, 4 * quads}, GroupAxis::kWithinRow);
      if (result) result = check_shape(setup, random, {4 * quads, other}, GroupAxis::kWithinColumn);
      if (!result) return result;
    }
  }
  return check_shape(setup, random, {4, 131}, GroupAxis::kWithinColumn);
}

namespace {

class Select24 : public TableTest {};

TEST_P(Select24, IsExact) { EXPECT_TRUE(check_select24(GetParam())); }

// Four magnitudes of four values, in all 256 ways: the tie rule against a sentence of the contract.
TEST_P(Select24, KeepsTheFirstTwoOfTheOrderByMagnitudeThenIndex) {
  Values x;
  for (int code = 0; code < 256; ++code)
    for (int i = 0; i < 4; ++i) {
      const int level = code >> (2 * i) & 3;
      x.push_back(level == 3   ? std::numeric_limits<double>::quiet_NaN()
                  : i % 2 == 0 ? level
                               : -level);
    }
  const Values mask = Select24Problem{x, {256, 4}}.run(GetParam())[0].values;
  for (std::size_t group = 0; group < 256; ++group) {
    std::size_t kept = 0;
    for (std::size_t level = 4; level-- > 0;)
      for (std::size_t i = 0; i < 4; ++i)
        if ((group >> (2 * i) & 3) == level) {
          EXPECT_EQ(mask[4 * group + i], kept < 2 ? 1.0 : 0.0) << group << ' ' << i;
          ++kept;
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Select24, testing::ValuesIn(setups_with_device()), setup_name);

TEST(Select24Reference, RunsInDouble) {
  const Values x{1.0, 1.0 + 1e-12, 1.0 + 2e-12, 0.0};  // equal in f32
  EXPECT_EQ((Select24Problem{x, {1, 4}}.run(oracle())[0].values), (Values{0, 1, 1, 0}));
  EXPECT_EQ((Select24Problem{x, {1, 4}}.run(exact_oracle())[0].values), (Values{1, 1, 0, 0}));
}

TEST(Select24Errors, NameTheProblem) {
  const Buffer x(Values(24), DType::kF32), mask(Values(24), DType::kU8);
  const Select24Args good{.x = x.view({3, 8}), .mask = mask.view({3, 8})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.x = {}; }, "[select24] x is missing");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = mask.view({3, 8});
      },
      "[select24] x must be f32, bf16 or f64, got u8");
  expect_refused(
      good, [](auto& args) { args.mask = {}; }, "[select24] mask is missing");
  expect_refused(
      good,
      [&](auto& args) {
        args.mask = x.view({3, 8});
      },
      "[select24] mask must be u8, got f32");
  expect_refused(
      good, [&](auto& args) { args.mask = mask.view({24}); },
      "[select24] mask must have shape (3, 8), got (24)");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = x.view({3, 2, 4}), args.mask = mask.view({3, 2, 4});
      },
      "[select24] x must have shape (R, C), got (3, 2, 4)");
  expect_refused(
      good, [](auto& args) { args.axis = GroupAxis::kWithinColumn; },
      "[select24] rows must be a multiple of 4, got 3");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = x.view({4, 6}), args.mask = mask.view({4, 6});
      },
      "[select24] cols must be a multiple of 4, got 6");
  const Buffer narrow(Values(4), DType::kBf16), wide(Values(4), DType::kF64);
  expect_error(
      [&] {
        select24(Context(cpu_table(), 1),
                 {.x = narrow.view({1, 4}), .mask = Buffer(Values(4), DType::kU8).view({1, 4})});
      },
      "[select24] the cpu backend computes in f32 and got bf16");
  expect_error(
      [&] {
        select24(Context(cpu_table(), 1),
                 {.x = wide.view({1, 4}), .mask = Buffer(Values(4), DType::kU8).view({1, 4})});
      },
      "[select24] the cpu backend runs f32; f64 runs on the reference backend");
}

}  // namespace
}  // namespace twill
