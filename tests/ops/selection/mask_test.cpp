// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/mask.h"

#include <cmath>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"
#include "support/sparse_data.h"

namespace twill {
namespace {

struct ApplyMaskProblem {
  Values x, mask;
  Shape shape;
  Values keep_columns = {};  // empty: absent
  bool in_place = false;
  bool from_master = false;  // x in the wide type

  Outputs run(const Setup& setup) const {
    const Buffer x_in = from_master ? setup.wide(x) : setup.buffer(x);
    const Buffer own = setup.buffer(rubbish(shape.num_elements()));
    const Buffer mask_in = setup.buffer(mask, DType::kU8);
    const Buffer columns = setup.buffer(keep_columns, DType::kU8);
    const Buffer& y = in_place ? x_in : own;
    apply_mask(*setup.context(), {.x = x_in.view(shape),
                                  .mask = mask_in.view(shape),
                                  .y = y.view(shape),
                                  .keep_columns = optional_view(columns, {shape.cols()})});
    return {{"y", y.values(), y.dtype()}};
  }
};

struct MaskDifferenceProblem {
  Values a, b;

  Outputs run(const Setup& setup) const {
    const Shape shape{static_cast<std::int64_t>(a.size())};
    const Buffer a_in = setup.buffer(a, DType::kU8), b_in = setup.buffer(b, DType::kU8);
    const Buffer count = setup.buffer(rubbish(1), DType::kF64);
    mask_difference(*setup.context(),
                    {.a = a_in.view(shape), .b = b_in.view(shape), .count = count.view({1})});
    return {{"count", count.values()}};
  }
};

struct MaskMassProblem {
  Values x, mask;

  Outputs run(const Setup& setup) const {
    const Shape shape{static_cast<std::int64_t>(x.size())};
    const Buffer x_in = setup.wide(x), mask_in = setup.buffer(mask, DType::kU8);
    const Buffer sums = setup.buffer(rubbish(5), DType::kF64);
    mask_mass(*setup.context(),
              {.x = x_in.view(shape), .mask = mask_in.view(shape), .sums = sums.view({5})});
    return {{"sums", sums.values()}};
  }
};

struct CountNonzeroProblem {
  Values x;
  Shape shape;

  Outputs run(const Setup& setup) const {
    const Buffer x_in = setup.buffer(x);
    const Values before(static_cast<std::size_t>(shape.cols()), -5.0);
    const Buffer counts = setup.buffer(before, DType::kI32);
    count_nonzero(*setup.context(), {.x = x_in.view(shape), .counts = counts.view({shape.cols()})});
    return {{"counts", counts.values()}};
  }
};

}  // namespace

testing::AssertionResult check_apply_mask(const Setup& setup) {
  Random random;
  for (const std::int64_t cols : kAwkwardSizes) {
    const Shape shape{37, cols};
    const std::int64_t count = shape.num_elements();
    ApplyMaskProblem problem{drawn(awkward_values(random, count)), random_mask(random, count),
                             shape};
    if (auto result = judge_exact(setup, problem); !result) return result << " for cols " << cols;
    problem.keep_columns = random_mask(random, cols);
    if (auto result = judge_exact(setup, problem); !result) return result << " with keep_columns";
    problem.in_place = true;
    if (auto result = judge_exact(setup, problem); !result) return result << " in place";
    problem.in_place = false;
    problem.from_master = true;
    problem.x = unrounded(random, count);
    if (auto result = judge_exact(setup, problem); !result) return result << " from a master";
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_mask_difference(const Setup& setup) {
  Random random;
  for (const std::int64_t count : {0, 1, 15, 16, 63, 64, 65, 1027, 20'000, 300'000}) {
    const MaskDifferenceProblem problem{random_mask(random, count), random_mask(random, count)};
    if (auto result = judge_exact(setup, problem); !result) return result << " for " << count;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_mask_mass(const Setup& setup) {
  Random random;
  for (const std::int64_t count : {0, 1, 255, 256, 257, 1027, 40'000, 300'000}) {
    const MaskMassProblem problem{random.normal(count), random_mask(random, count)};
    if (auto result = judge_exact(setup, problem); !result) return result << " for " << count;
  }
  return judge_exact(setup, MaskMassProblem{awkward_values(random, 600), random_mask(random, 600)});
}

testing::AssertionResult check_count_nonzero(const Setup& setup) {
  Random random;
  for (const std::int64_t cols : kAwkwardSizes)
    for (const std::int64_t rows : {0, 1, 19, 150}) {
      const CountNonzeroProblem problem{drawn(awkward_values(random, rows * cols)), {rows, cols}};
      if (auto result = judge_exact(setup, problem); !result)
        return result << fmt::format(" for ({}, {})", rows, cols);
    }
  return testing::AssertionSuccess();
}

namespace {

class MaskOps : public TableTest {};

TEST_P(MaskOps, ApplyMaskIsExact) { EXPECT_TRUE(check_apply_mask(GetParam())); }
TEST_P(MaskOps, DifferenceIsExact) { EXPECT_TRUE(check_mask_difference(GetParam())); }
TEST_P(MaskOps, MassIsExact) { EXPECT_TRUE(check_mask_mass(GetParam())); }
TEST_P(MaskOps, CountIsExact) { EXPECT_TRUE(check_count_nonzero(GetParam())); }

TEST_P(MaskOps, LiteralValues) {
  const Values x{-1.5, 2.0, -0.0, 4.0, NAN, -0.25}, mask{0, 1, 1, 0, 0, 1};
  const Values y = ApplyMaskProblem{x, mask, {2, 3}, {1, 0, 0}}.run(GetParam())[0].values;
  EXPECT_TRUE(expect_same_bits("y", y, {-1.5, 2.0, -0.0, 4.0, 0.0, -0.25}));
  EXPECT_EQ((MaskDifferenceProblem{mask, {0, 1, 0, 0, 1, 1}}.run(GetParam())[0].values), Values{2});
  EXPECT_EQ((MaskMassProblem{{-1.5, 2.0, -0.25}, {0, 1, 1}}.run(GetParam())[0].values),
            (Values{3.75, 6.3125, 2.25, 4.0625, 2.0}));
  EXPECT_EQ((CountNonzeroProblem{x, {2, 3}}.run(GetParam())[0].values), (Values{2, 2, 1}));
}

// Runs whose sums lie half-way between two totals: the order of the runs decides every bit. Later
// ones that are not finite show.
TEST_P(MaskOps, MassOfManyRunsKeepsTheirOrder) {
  Random random;
  constexpr std::int64_t kRun = 256, kRuns = 900;
  MaskMassProblem problem{Values(kRun * kRuns), random_mask(random, kRun * kRuns)};
  const Values odd = random.integers(kRuns, 0, 2);
  problem.x[3] = 0x1p53;  // totals are even from here on
  for (std::size_t run = 1; run < kRuns; ++run)
    problem.x[kRun * run + 7] = run < 400 ? 2.0 * odd[run] : 2.0 * odd[run] - 1.0;
  EXPECT_TRUE(judge_exact(GetParam(), problem));
  problem.x[kRun * 700] = INFINITY;
  EXPECT_TRUE(judge_exact(GetParam(), problem));
  problem.x[kRun * 800] = NAN;
  EXPECT_TRUE(judge_exact(GetParam(), problem));
}

INSTANTIATE_TEST_SUITE_P(Tables, MaskOps, testing::ValuesIn(setups_with_device()), setup_name);

TEST(MaskErrors, NameTheProblemOfApplyMask) {
  const Buffer x(Values(6), DType::kF32), mask(Values(6), DType::kU8);
  const ApplyMaskArgs good{.x = x.view({2, 3}), .mask = mask.view({2, 3}), .y = x.view({2, 3})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.y = {}; }, "[apply_mask] y is missing");
  expect_refused(
      good, [](auto& args) { args.mask = {}; }, "[apply_mask] mask is missing");
  expect_refused(
      good, [&](auto& args) { args.y = x.view({6}); },
      "[apply_mask] y must have shape (2, 3), got (6)");
  expect_refused(
      good, [&](auto& args) { args.keep_columns = mask.view({6}); },
      "[apply_mask] keep_columns must have shape (3), got (6)");
  const Buffer narrow(Values(6), DType::kBf16), wide(Values(6), DType::kF64);
  ApplyMaskArgs operand = good;
  operand.y = narrow.view({2, 3});
  EXPECT_NO_THROW(validate(operand));
  expect_error([&] { apply_mask(Context(cpu_table(), 1), operand); },
               "[apply_mask] the cpu backend computes in f32 and got bf16");
  operand.x = narrow.view({2, 3});
  EXPECT_NO_THROW(validate(operand));
  expect_refused(
      operand,
      [&](auto& args) {
        args.y = x.view({2, 3});
      },
      "[apply_mask] x must be f32 beside y, got bf16");
  expect_refused(
      operand,
      [&](auto& args) {
        args.x = wide.view({2, 3});
      },
      "[apply_mask] x must be f32 beside y, got f64");
}

TEST(MaskErrors, NameTheProblemOfTheOthers) {
  const Buffer x(Values(6), DType::kF32), mask(Values(6), DType::kU8);
  const Buffer sums(Values(5), DType::kF64), one(Values(1), DType::kF64);
  const MaskDifferenceArgs difference{
      .a = mask.view({6}), .b = mask.view({6}), .count = one.view({1})};
  EXPECT_NO_THROW(validate(difference));
  expect_refused(
      difference, [&](auto& args) { args.a = x.view({6}); },
      "[mask_difference] a must be u8, got f32");
  expect_refused(
      difference,
      [&](auto& args) {
        args.b = mask.view({2, 3});
      },
      "[mask_difference] b must have shape (6), got (2, 3)");
  expect_refused(
      difference, [&](auto& args) { args.count = sums.view({5}); },
      "[mask_difference] count must have shape (1), got (5)");
  const MaskMassArgs mass{.x = x.view({6}), .mask = mask.view({6}), .sums = sums.view({5})};
  EXPECT_NO_THROW(validate(mass));
  expect_refused(
      mass, [&](auto& args) { args.sums = x.view({6}); }, "[mask_mass] sums must be f64, got f32");
  expect_refused(
      mass, [&](auto& args) { args.sums = one.view({1}); },
      "[mask_mass] sums must have shape (5), got (1)");
  const Buffer counts(Values(3), DType::kI32);
  const CountNonzeroArgs count{.x = x.view({2, 3}), .counts = counts.view({3})};
  EXPECT_NO_THROW(validate(count));
  expect_refused(
      count, [&](auto& args) { args.counts = x.view({6}); },
      "[count_nonzero] counts must be i32, got f32");
  expect_refused(
      count,
      [&](auto& args) {
        args.x = x.view({3, 2});
      },
      "[count_nonzero] counts must have shape (2), got (3)");
  expect_refused(
      count,
      [&](auto& args) {
        args.x = View(x.view({6}).bytes(), DType::kF32, {1LL << 31, 3});
      },
      "[count_nonzero] x must have fewer than 2^31 rows, got 2147483648");
}

}  // namespace
}  // namespace twill
