// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/soft_threshold24.h"

#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct SoftProblem {
  Values x;
  Shape shape;
  GroupAxis axis = GroupAxis::kWithinRow;
  double scale = 1.4837;
  bool in_place = false;

  Outputs run(const Setup& setup) const {
    const Buffer x_in = setup.wide(x), own = setup.buffer(rubbish(shape.num_elements()));
    const Buffer& y = in_place ? x_in : own;
    soft_threshold24(*setup.context(),
                     {.x = x_in.view(shape), .y = y.view(shape), .axis = axis, .scale = scale});
    return {{"y", y.values(), y.dtype()}};
  }
};

struct SumsProblem {
  Values x;
  Shape shape;
  GroupAxis axis = GroupAxis::kWithinRow;

  Outputs run(const Setup& setup) const {
    const Buffer x_in = setup.wide(x), sums = setup.buffer(rubbish(4), DType::kF64);
    soft_threshold24_sums(*setup.context(),
                          {.x = x_in.view(shape), .sums = sums.view({4}), .axis = axis});
    return {{"sums", sums.values()}};
  }
};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Ties, zeros of both signs, denormals, and what is not finite.
Values awkward_data(Random& random, std::int64_t count, bool finite) {
  Values values = random.integers(count, -2, 2);
  const Values kind = random.integers(count, 0, 15);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (kind[i] == 0) values[i] = -0.0;
    if (kind[i] == 1) values[i] = 0x1p-140 * values[i];
    if (kind[i] == 2 && !finite) values[i] = kNan;
    if (kind[i] == 3 && !finite) values[i] = values[i] < 0 ? -kInf : kInf;
    if (kind[i] == 4) values[i] *= 0x1p127;
  }
  return values;
}

std::vector<std::pair<Shape, GroupAxis>> awkward_shapes() {
  std::vector<std::pair<Shape, GroupAxis>> shapes;
  for (const std::int64_t C : {0, 4, 8, 12, 28, 64, 68, 132, 1028})
    for (const std::int64_t R : {1, 3, 16}) shapes.push_back({{R, C}, GroupAxis::kWithinRow});
  for (const std::int64_t C : kAwkwardSizes)
    for (const std::int64_t R : {4, 12}) shapes.push_back({{R, C}, GroupAxis::kWithinColumn});
  shapes.push_back({{36, 1024}, GroupAxis::kWithinRow});  // more than a piece
  shapes.push_back({{36, 1025}, GroupAxis::kWithinColumn});
  return shapes;
}

}  // namespace

testing::AssertionResult check_soft_threshold24(const Setup& setup) {
  Random random;
  for (const auto& [shape, axis] : awkward_shapes()) {
    const std::int64_t n = shape.num_elements();
    for (const Values& x : {random.normal(n), awkward_data(random, n, false)})
      for (const bool in_place : {false, true}) {
        const SoftProblem problem{.x = x, .shape = shape, .axis = axis, .in_place = in_place};
        if (auto result = judge_exact(setup, problem); !result)
          return result << " for shape " << to_string(shape);
      }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_soft_threshold24_sums(const Setup& setup) {
  Random random;
  for (const auto& [shape, axis] : awkward_shapes()) {
    const std::int64_t n = shape.num_elements();
    for (const Values& x : {random.normal(n), awkward_data(random, n, true)})
      if (auto result = judge_exact(setup, SumsProblem{x, shape, axis}); !result)
        return result << " for shape " << to_string(shape);
  }
  return testing::AssertionSuccess();
}

namespace {

class SoftThreshold24 : public TableTest {};

TEST_P(SoftThreshold24, IsExact) { EXPECT_TRUE(check_soft_threshold24(GetParam())); }
TEST_P(SoftThreshold24, SumsAreExact) { EXPECT_TRUE(check_soft_threshold24_sums(GetParam())); }

TEST_P(SoftThreshold24, KnowsOtherScales) {
  Random random;
  for (const double scale : {1.0, 0.0, -2.5, 1e-40}) {
    const SoftProblem problem{.x = random.normal(64), .shape = {4, 16}, .scale = scale};
    EXPECT_TRUE(judge_exact(GetParam(), problem)) << scale;
  }
}

TEST_P(SoftThreshold24, SumsShowWhatIsNotFinite) {
  EXPECT_TRUE(judge_exact(GetParam(), SumsProblem{{1, kNan, 2, 3}, {1, 4}}));
  EXPECT_TRUE(judge_exact(GetParam(), SumsProblem{{1, kInf, 2, 3}, {1, 4}}));
}

INSTANTIATE_TEST_SUITE_P(Tables, SoftThreshold24, testing::ValuesIn(setups_with_device()),
                         setup_name);

Values soft_of(const Values& x, double scale = 1.0) {
  return SoftProblem{.x = x, .shape = {1, 4}, .scale = scale}.run(exact_oracle())[0].values;
}

TEST(SoftThreshold24Reference, ReadsTheHeaderLiterally) {
  EXPECT_EQ(soft_of({3, -1, 2, 0.5}), (Values{2, 0, 1, 0}));
  EXPECT_EQ(soft_of({3, -1, -2, 0.5}, 2.0), (Values{4, 0, -2, 0}));
  EXPECT_TRUE(expect_same_bits("zeros", soft_of({-1, -1, -3, -0.0}, 2.0), Values{0, 0, -4, 0}));
  EXPECT_TRUE(expect_same_bits("negative scale", soft_of({1, 1, 3, 1}, -1.0), Values{0, 0, -2, 0}));
}

// NaN is a magnitude above all, so it raises no threshold, and it is seen behind the op.
TEST(SoftThreshold24Reference, ShowsWhatIsNotFinite) {
  EXPECT_TRUE(expect_same_bits("NaN", soft_of({kNan, 1, 2, 4}), Values{kNan, 0, 0, 2}));
  EXPECT_TRUE(expect_same_bits("Inf", soft_of({1, -kInf, 2, 4}), Values{0, -kInf, 0, 2}));
  EXPECT_TRUE(
      expect_same_bits("three", soft_of({kInf, 1, kNan, -kInf}), Values{kNan, 0, kNan, kNan}));
}

TEST(SoftThreshold24Reference, SumsByHand) {
  const SumsProblem problem{{3, -1, 2, 0.5, 0, 0, -4, 1}, {2, 4}};
  EXPECT_EQ(problem.run(exact_oracle())[0].values,  // S = 2 0 1 0 | 0 0 -4 1
            (Values{6 + 2 + 16 + 1, 4 + 1 + 16 + 1, 6.5 + 5, 3 + 5}));
}

TEST(SoftThreshold24Errors, NameTheProblem) {
  const Buffer x(Values(24), DType::kF32), sums(Values(4), DType::kF64);
  const SoftThreshold24Args good{.x = x.view({6, 4}), .y = x.view({6, 4})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.y = {}; }, "[soft_threshold24] y is missing");
  expect_refused(
      good, [&](auto& args) { args.x = x.view({24}); },
      "[soft_threshold24] x must have two dimensions, got (24)");
  expect_refused(
      good,
      [&](auto& args) {
        args.y = x.view({4, 6});
      },
      "[soft_threshold24] y must have shape (6, 4), got (4, 6)");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = args.y = x.view({4, 6});
      },
      "[soft_threshold24] cols of x must be a multiple of 4, got 6");
  expect_refused(
      good, [](auto& args) { args.axis = GroupAxis::kWithinColumn; },
      "[soft_threshold24] rows of x must be a multiple of 4, got 6");
  const Buffer narrow(Values(24), DType::kBf16);
  const SoftThreshold24Args operand{.x = x.view({6, 4}), .y = narrow.view({6, 4})};
  EXPECT_NO_THROW(validate(operand));
  expect_refused(
      operand,
      [&](auto& args) {
        args.x = narrow.view({6, 4});
      },
      "[soft_threshold24] x must be f32 beside y, got bf16");
  expect_error([&] { soft_threshold24(Context(cpu_table(), 1), operand); },
               "[soft_threshold24] the cpu backend computes in f32 and got bf16");
  expect_refused(
      good, [](auto& args) { args.scale = kInf; },
      "[soft_threshold24] scale must be finite, got inf");
}

TEST(SoftThreshold24Errors, NameTheProblemOfTheSums) {
  const Buffer x(Values(24), DType::kF32), sums(Values(4), DType::kF64);
  const SoftThreshold24SumsArgs good{.x = x.view({6, 4}), .sums = sums.view({4})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.x = {}; }, "[soft_threshold24_sums] x is missing");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = x.view({4, 6});
      },
      "[soft_threshold24_sums] cols of x must be a multiple of 4, got 6");
  expect_refused(
      good, [&](auto& args) { args.sums = x.view({24}); },
      "[soft_threshold24_sums] sums must be f64, got f32");
  expect_refused(
      good,
      [&](auto& args) {
        args.sums = sums.view({2, 2});
      },
      "[soft_threshold24_sums] sums must have shape (4), got (2, 2)");
}

}  // namespace
}  // namespace twill
