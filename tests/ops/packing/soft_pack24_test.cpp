// SPDX-License-Identifier: Apache-2.0
// A soft projection and its packing at once: what the two steps give, one after the other.
#include "ops/packing/soft_pack24.h"

#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "ops/products/packed24_problem.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct SoftPackProblem {
  Values x = {};  // of the weight as it lies
  PackedShape shape;
  GroupAxis axis = GroupAxis::kWithinRow;
  bool transpose = false;
  double scale = 1.4837;
  bool keeps_projected = true;

  Shape sides() const {
    return transpose ? Shape{shape.cols, shape.rows} : Shape{shape.rows, shape.cols};
  }
};

struct SoftPacked {
  Values projected;
  Values bytes;
  Values unpacked;  // in the orientation of P
};

// The op, or its two steps. The storage holds rubbish at first and not a byte to spare.
SoftPacked run_soft_pack(const Setup& setup, const SoftPackProblem& problem,
                         bool by_steps = false) {
  const std::shared_ptr<const Context> opened = setup.context();
  const Context& context = *opened;
  const PackedShape& shape = problem.shape;
  const std::int64_t bytes = packed_bytes(context, shape);
  const Buffer x = setup.wide(problem.x),
               projected = setup.buffer(rubbish(shape.rows * shape.cols));
  const Buffer storage(Values(index(bytes), 165.0), DType::kU8, 0,
                       setup.table->copy_in != nullptr ? setup.context() : nullptr);
  const SoftPack24Args args{.x = x.view(problem.sides()),
                            .projected = projected.view(problem.sides()),
                            .axis = problem.axis,
                            .scale = problem.scale,
                            .shape = shape,
                            .storage = storage.view({bytes}),
                            .transpose = problem.transpose,
                            .keeps_projected = problem.keeps_projected};
  if (by_steps) {
    soft_threshold24(context, args.projection());
    pack_matrix(context, args.packing());
  } else {
    soft_pack24(context, args);
  }
  const Buffer dense = setup.buffer(rubbish(shape.rows * shape.cols));
  unpack_matrix(context, {.packed = {shape, storage.view({bytes})},
                          .dense = dense.view({shape.rows, shape.cols})});
  return {projected.values(), storage.values(), dense.values()};
}

// Groups of the oracle's own projection, rounded to the setup's type.
Values wanted_projection(const Setup& setup, const SoftPackProblem& problem) {
  const Setup judge = exact_oracle();
  const Buffer x = judge.buffer(problem.x), y = judge.buffer(rubbish(std::ssize(problem.x)));
  soft_threshold24(*judge.context(), {.x = x.view(problem.sides()),
                                      .y = y.view(problem.sides()),
                                      .axis = problem.axis,
                                      .scale = problem.scale});
  return setup.dtype == DType::kBf16 ? rounded_to_bf16(y.values()) : y.values();
}

// What is kept of a projection: of four neighbours of a row of P the first two that are not zero, where
// P has groups at all.
Values wanted_entries(const SoftPackProblem& problem, const Values& projected) {
  const std::int64_t R = problem.shape.rows, C = problem.shape.cols;
  Values entries = problem.transpose ? transposed(projected, C, R) : projected;
  int kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i % 4 == 0) kept = 0;
    if (entries[i] != 0.0) ++kept;  // a NaN is
    const bool is_beyond = problem.shape.pattern == PackedPattern::k24 && kept > 2;
    if (entries[i] == 0.0 || is_beyond) entries[i] = 0.0;
  }
  return entries;
}

testing::AssertionResult check_one(const Setup& setup, SoftPackProblem problem) {
  const Values projected = wanted_projection(setup, problem);
  const Values entries = wanted_entries(problem, projected);
  for (const bool keeps : {true, false}) {
    problem.keeps_projected = keeps;
    const SoftPacked got = run_soft_pack(setup, problem);
    const auto where =
        fmt::format(" for {} x {}, transpose {}, scale {}, keeps {}", problem.shape.rows,
                    problem.shape.cols, problem.transpose, problem.scale, keeps);
    if (keeps)
      if (auto result = expect_same_bits("projected", got.projected, projected); !result)
        return result << where;
    if (auto result = expect_same_bits("packed", got.unpacked, entries); !result)
      return result << where;
    if (got.bytes != run_soft_pack(setup, problem, /*by_steps=*/true).bytes)
      return testing::AssertionFailure() << "not the bytes of two steps" << where;
  }
  return testing::AssertionSuccess();
}

// No group of a row, or of a column, has three magnitudes without end: their differences would be
// three NaN, and a 2:4 pattern is not defined for them.
Values at_most_two_infinite(Values x, std::int64_t cols, GroupAxis axis) {
  const auto C = index(cols);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool within_row = axis == GroupAxis::kWithinRow;
    const std::size_t in_group = within_row ? i % C % 4 : i / C % 4, stride = within_row ? 1 : C;
    if (in_group != 3) continue;
    int finite = 0;
    for (std::size_t k = 0; k < 4; ++k) finite += std::isfinite(x[i - k * stride]) ? 1 : 0;
    for (std::size_t k = 0; k < 4 && finite < 2; ++k)
      if (!std::isfinite(x[i - k * stride])) x[i - k * stride] = 2.0, ++finite;
  }
  return x;
}

// Results around the smallest numbers: bf16 rounds most of them to a zero of their sign.
Values tiny_masters(Random& random, std::int64_t count) {
  Values values = random.integers(count, -70000, 70000);
  for (double& value : values) value *= std::numeric_limits<float>::denorm_min();
  return values;
}

// Every group of equal magnitudes: nothing is left of it.
Values level_masters(Random& random, std::int64_t count) {
  Values values = random.integers(count, 0, 1);
  for (double& value : values) value = value == 0.0 ? -0.75 : 0.75;
  return values;
}

}  // namespace

// f32: groups in rows packed as they lie, groups in columns packed transposed and, where the setup packs
// every mask, the other side of either.
testing::AssertionResult check_soft_pack24(const Setup& setup) {
  Random random;
  for (const Shape& sides :
       {Shape{4, 4}, Shape{16, 16}, Shape{20, 36}, Shape{64, 96}, Shape{132, 68}, Shape{0, 8}})
    for (const GroupAxis axis : {GroupAxis::kWithinRow, GroupAxis::kWithinColumn})
      for (const bool transpose : {false, true}) {
        const std::int64_t size = sides.num_elements();
        const bool has_groups = (axis == GroupAxis::kWithinColumn) == transpose;
        SoftPackProblem problem{
            .shape = {.pattern = has_groups ? PackedPattern::k24 : PackedPattern::kAny,
                      .rows = sides[transpose ? 1 : 0],
                      .cols = sides[transpose ? 0 : 1],
                      .max_kept = size},
            .axis = axis,
            .transpose = transpose};
        for (const Values& x : {random.normal(size),
                                at_most_two_infinite(awkward_values(random, size), sides[1], axis),
                                level_masters(random, size)}) {
          problem.x = x;
          if (auto result = check_one(setup, problem); !result) return result;
        }
      }
  return testing::AssertionSuccess();
}

namespace {

class SoftPack24 : public TableTest {};

TEST_P(SoftPack24, IsExact) { EXPECT_TRUE(check_soft_pack24(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Tables, SoftPack24, testing::ValuesIn(setups_under_test()), setup_name);

TEST(SoftPack24Errors, NameTheProblem) {
  const Context reference(reference_table(), 1);
  const Buffer x(Values(48), DType::kF32), storage(Values(1000), DType::kU8);
  const Buffer small(Values(1), DType::kU8);
  const SoftPack24Args good{.x = x.view({4, 12}),
                            .projected = x.view({4, 12}),
                            .shape = {.rows = 4, .cols = 12, .max_kept = 48},
                            .storage = storage.view({1000})};
  EXPECT_NO_THROW(validate(good));
  SoftPack24Args bad = good;
  bad.projected = {};
  expect_error([&] { validate(bad); }, "[soft_pack24] projected is missing");
  bad = good;
  bad.x = bad.projected = x.view({8, 6});
  expect_error([&] { validate(bad); }, "[soft_pack24] cols of x must be a multiple of 4, got 6");
  bad = good;
  bad.transpose = true;
  expect_error([&] { validate(bad); }, "[soft_pack24] dense must have shape (12, 4), got (4, 12)");
  bad = good;
  bad.scale = std::numeric_limits<double>::infinity();
  expect_error([&] { validate(bad); }, "[soft_pack24] scale must be finite, got inf");
  bad = good;
  bad.storage = small.view({1});
  expect_error([&] { soft_pack24(reference, bad); }, "[soft_pack24] storage must have");
}

class SoftPack24Bf16 : public Packed24Test {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SoftPack24Bf16);

// Whole atoms, parts of them at either edge and at both; rows that end in the midst of a warp's 16.
constexpr Shape kSoftShapes[] = {{8, 16},    {16, 64},   {64, 16},  {64, 64},   {72, 80},
                                 {24, 48},   {128, 64},  {56, 192}, {112, 176}, {272, 144},
                                 {144, 336}, {1040, 16}, {8, 1040}};

TEST_P(SoftPack24Bf16, IsWhatTwoStepsGive) {
  Random random;
  for (const Shape& shape : kSoftShapes) {
    const std::int64_t size = shape.num_elements();
    SoftPackProblem problem{.shape = shape24(shape[0], shape[1])};
    for (const Values& x :
         {unrounded(random, size), awkward_masters(random, size), awkward_values(random, size),
          tiny_masters(random, size), level_masters(random, size)}) {
      problem.x = x;
      ASSERT_TRUE(check_one(GetParam(), problem));
    }
    for (const double scale : {1.0, 0.0, -2.5, 1e-40}) {
      problem.x = unrounded(random, size);
      problem.scale = scale;
      ASSERT_TRUE(check_one(GetParam(), problem));
    }
  }
}

// Groups in columns for dgrad: no kernel of its own.
TEST_P(SoftPack24Bf16, TakesTwoStepsForTheTransposed) {
  Random random;
  for (const Shape& shape : {Shape{64, 64}, Shape{80, 144}}) {
    ASSERT_TRUE(check_one(GetParam(), {.x = awkward_masters(random, shape.num_elements()),
                                       .shape = shape24(shape[1], shape[0]),
                                       .axis = GroupAxis::kWithinColumn,
                                       .transpose = true}));
  }
}

// A layer of GPT-2 XL.
TEST_P(SoftPack24Bf16, IsWhatTwoStepsGiveOnALayer) {
  Random random;
  constexpr std::int64_t kRows = 6400, kCols = 1600;
  EXPECT_TRUE(check_one(GetParam(), {.x = repeated(awkward_masters(random, 100003), kRows * kCols),
                                     .shape = shape24(kRows, kCols)}));
}

// The test above would pass without a kernel.
TEST_P(SoftPack24Bf16, OneReadingWhereItFits) {
  const auto& setup = GetParam();
  const Buffer x = setup.wide(Values(64 * 64)), narrow = setup.buffer(Values(64 * 64));
  const Buffer storage(Values(10000), DType::kU8, 0, setup.context());
  const SoftPack24Args good{.x = x.view({64, 64}),
                            .projected = narrow.view({64, 64}),
                            .shape = shape24(64, 64),
                            .storage = storage.view({10000})};
  ASSERT_NE(setup.table->fuses_soft_pack, nullptr);
  EXPECT_EQ(setup.table->fuses_soft_pack(good), setup.offset == 0);
  SoftPack24Args other = good;
  other.axis = GroupAxis::kWithinColumn;
  EXPECT_FALSE(setup.table->fuses_soft_pack(other));
  other = good;
  other.transpose = true;
  EXPECT_FALSE(setup.table->fuses_soft_pack(other));
}

INSTANTIATE_TEST_SUITE_P(Tables, SoftPack24Bf16, testing::ValuesIn(setups_that_pack_bf16()),
                         setup_name);

}  // namespace
}  // namespace twill
