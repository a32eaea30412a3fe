// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/venom.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct VenomProblem {
  Shape shape;
  Values x;
  std::int64_t v, m;
  GroupAxis along = GroupAxis::kWithinRow;
  Values row_order = {}, column_order = {};  // empty: absent
  bool wants_mass = true;

  Outputs run(const Setup& setup) const {
    const Buffer x_in = setup.buffer(x);
    const Buffer mask_out = setup.buffer(Values(x.size(), 7.0), DType::kU8);
    const Buffer rows = setup.buffer(row_order, DType::kI32);
    const Buffer columns = setup.buffer(column_order, DType::kI32);
    const Buffer mass = setup.buffer(Values(wants_mass ? 3 : 0, 7.0), DType::kF64);
    venom_select(*setup.context(), {.x = x_in.view(shape),
                                    .mask = mask_out.view(shape),
                                    .row_order = optional_view(rows, {shape[0]}),
                                    .column_order = optional_view(columns, {shape[1]}),
                                    .along = along,
                                    .v = v,
                                    .m = m,
                                    .mass = optional_view(mass, {3})});
    return {{"mask", mask_out.values(), DType::kU8}, {"mass", mass.values(), DType::kF64}};
  }
};

// Activations as they are: most are zero.
Values sparse_values(Random& random, std::int64_t count, double density) {
  Values x = random.normal(count);
  const Values coin = random.integers(count, 0, 999);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (coin[i] >= 1000.0 * density) x[i] = i % 2 == 0 ? 0.0 : -0.0;
  return x;
}

// Few different sizes: ties everywhere, in scores and in rows.
Values tied_values(Random& random, std::int64_t count) { return random.integers(count, -2, 2); }

Values special_values(Random& random, std::int64_t count) {
  constexpr double kSpecials[] = {kNan, -kNan, kInf, -kInf, 1e-45, -1e-42, 0.0, 3e38};
  Values x = random.normal(count);
  const Values pick = random.integers(count, 0, 31);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (pick[i] < 8) x[i] = kSpecials[static_cast<std::size_t>(pick[i])];
  return drawn(x);
}

Values random_order(Random& random, std::int64_t count) {
  const Values key = random.normal(count);
  Values order(key.size());
  std::iota(order.begin(), order.end(), 0.0);
  std::stable_sort(order.begin(), order.end(), [&](double a, double b) {
    return key[static_cast<std::size_t>(a)] < key[static_cast<std::size_t>(b)];
  });
  return order;
}

testing::AssertionResult check_one(const Setup& setup, const VenomProblem& p) {
  return judge_exact(setup, p) << fmt::format(
             " for {} in {}:2:{}, axis {}, row order {}, column order {}, mass {}",
             to_string(p.shape), p.v, p.m, static_cast<int>(p.along), !p.row_order.empty(),
             !p.column_order.empty(), p.wants_mass);
}

// Without and with orders, without and with sums.
testing::AssertionResult check_orders(const Setup& setup, Random& random, VenomProblem problem) {
  problem.wants_mass = false;
  if (auto result = check_one(setup, problem); !result) return result;
  problem.wants_mass = true;
  if (auto result = check_one(setup, problem); !result) return result;
  problem.row_order = random_order(random, problem.shape[0]);
  if (auto result = check_one(setup, problem); !result) return result;
  problem.column_order = random_order(random, problem.shape[1]);
  return check_one(setup, problem);
}

struct Pattern {
  std::int64_t v, m;
};
constexpr Pattern kPatterns[] = {{1, 4},  {1, 8}, {2, 8}, {16, 16},
                                 {64, 8}, {5, 7}, {3, 3}, {4, 32}};

}  // namespace

testing::AssertionResult check_venom_select(const Setup& setup) {
  Random random;
  for (const Shape& shape : {Shape{0, 8}, {3, 0}, {1, 1}, {2, 8}, {7, 13}, {17, 33}, {65, 70}}) {
    const std::int64_t count = shape.num_elements();
    for (const auto& [v, m] : kPatterns) {
      for (const GroupAxis along : {GroupAxis::kWithinRow, GroupAxis::kWithinColumn}) {
        for (const Values& x : {sparse_values(random, count, 0.3), tied_values(random, count),
                                special_values(random, count)}) {
          auto result = check_orders(setup, random, {shape, x, v, m, along});
          if (!result) return result;
        }
      }
    }
  }
  return testing::AssertionSuccess();
}

namespace {

class VenomSelect : public TableTest {};

TEST_P(VenomSelect, IsExact) { EXPECT_TRUE(check_venom_select(GetParam())); }

TEST_P(VenomSelect, ManyBlocksOverThreads) {
  Random random;
  for (const GroupAxis along : {GroupAxis::kWithinRow, GroupAxis::kWithinColumn}) {
    const Shape shape{200, 600};
    EXPECT_TRUE(check_one(GetParam(), {shape, sparse_values(random, 120'000, 0.1), 16, 8, along}));
    EXPECT_TRUE(check_one(GetParam(), {shape, random.normal(120'000), 1, 4, along}));
  }
}

// Blocks and windows as large as the matrix and larger, for which no backend has a special way.
TEST_P(VenomSelect, LargeBlocks) {
  Random random;
  const Shape shape{210, 272};
  const std::int64_t count = shape.num_elements(), huge = std::int64_t{1} << 40;
  for (const GroupAxis along : {GroupAxis::kWithinRow, GroupAxis::kWithinColumn})
    for (const auto& [v, m] : {Pattern{3, 500}, {300, 4}, {200, 260}, {1000, 1000}, {huge, huge}})
      for (const Values& x : {sparse_values(random, count, 0.3), tied_values(random, count)})
        EXPECT_TRUE(check_orders(GetParam(), random, {shape, x, v, m, along}));
}

// Rows that fill 16-byte accesses, cut by every window.
TEST_P(VenomSelect, WholeLines) {
  Random random;
  for (const GroupAxis along : {GroupAxis::kWithinRow, GroupAxis::kWithinColumn})
    for (const auto& [v, m] : {Pattern{64, 8}, {16, 16}, {8, 32}, {1, 4}, {32, 128}, {24, 24}})
      EXPECT_TRUE(
          check_orders(GetParam(), random, {{144, 336}, tied_values(random, 48'384), v, m, along}));
}

// Rows longer than what the cpu brings into order at a time.
TEST_P(VenomSelect, LongRows) {
  Random random;
  for (const auto& [v, m] : {Pattern{8, 8}, {1, 4}, {5, 16}})
    EXPECT_TRUE(
        check_orders(GetParam(), random,
                     {{20, 1100}, tied_values(random, 22'000), v, m, GroupAxis::kWithinRow}));
}

INSTANTIATE_TEST_SUITE_P(Tables, VenomSelect, testing::ValuesIn(setups_with_device()), setup_name);

TEST(VenomSelectReference, TiesGoToTheLowestPosition) {
  // All scores 2, so columns 0 to 3 survive; each row keeps columns 0 and 1.
  const VenomProblem problem{{2, 8}, Values(16, -1.0), 2, 8};
  const Outputs out = problem.run(exact_oracle());
  EXPECT_EQ(out[0].values, (Values{1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(out[1].values, (Values{16, 8, 4}));
}

TEST(VenomSelectReference, PositionsDecideTiesAndNotIndices) {
  VenomProblem problem{{1, 8}, Values(8, 1.0), 1, 8};
  problem.column_order = {7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_EQ(problem.run(exact_oracle())[0].values, (Values{0, 0, 0, 0, 0, 0, 1, 1}));
}

TEST(VenomSelectReference, RowOrderChoosesNeighbours) {
  // Rows 0 and 2 like columns 0-3, rows 1 and 3 columns 4-7. Sorted, nothing is lost but the
  // smaller two of four.
  const Values low{4, 3, 2, 1, 0, 0, 0, 0}, high{0, 0, 0, 0, 1, 2, 3, 4};
  VenomProblem problem{{4, 8}, {}, 2, 8};
  for (const Values* row : {&low, &high, &low, &high})
    problem.x.insert(problem.x.end(), row->begin(), row->end());
  EXPECT_EQ(problem.run(exact_oracle())[1].values, (Values{40, 28, 28}));
  problem.row_order = {0, 2, 1, 3};
  EXPECT_EQ(problem.run(exact_oracle())[1].values, (Values{40, 40, 28}));
}

TEST(VenomSelectReference, WithinColumnIsTheTransposedPattern) {
  const VenomProblem rows{{2, 8}, {5, 0, 0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 4, 0, 0, 0}, 2, 8};
  const VenomProblem columns{
      {8, 2}, {5, 0, 0, 3, 0, 0, 1, 0, 0, 4, 2, 0, 0, 0, 0, 0}, 2, 8, GroupAxis::kWithinColumn};
  const Values a = rows.run(exact_oracle())[0].values, b = columns.run(exact_oracle())[0].values;
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(a[r * 8 + c], b[c * 2 + r]);
}

TEST(VenomSelectReference, KeepsNoZeroAndSeesNan) {
  const VenomProblem problem{{1, 4}, {0.0, -0.0, 2, 0}, 1, 4};
  EXPECT_EQ(problem.run(exact_oracle())[0].values, (Values{0, 0, 1, 0}));
  const VenomProblem special{{1, 4}, {3e38, kInf, kNan, -kInf}, 1, 4};
  EXPECT_EQ(special.run(exact_oracle())[0].values, (Values{0, 1, 1, 0}));
}

TEST(VenomSelectErrors, NameTheProblem) {
  const Buffer x(Values(32), DType::kF32), mask(Values(32), DType::kU8);
  const Buffer rows(Values(4), DType::kI32), mass(Values(3), DType::kF64);
  const VenomSelectArgs good{.x = x.view({4, 8}),
                             .mask = mask.view({4, 8}),
                             .row_order = rows.view({4}),
                             .mass = mass.view({3})};
  EXPECT_NO_THROW(validate(good));
  const auto refuse = [&](const auto& change, std::string_view text) {
    expect_refused(good, change, text);
  };
  refuse([](auto& args) { args.x = {}; }, "[venom_select] x is missing");
  refuse([&](auto& args) { args.x = x.view({32}); },
         "[venom_select] x must have shape (R, C), got (32)");
  refuse([](auto& args) { args.mask = {}; }, "[venom_select] mask is missing");
  refuse(
      [&](auto& args) {
        args.mask = x.view({4, 8});
      },
      "[venom_select] mask must be u8, got f32");
  refuse(
      [&](auto& args) {
        args.mask = mask.view({8, 4});
      },
      "[venom_select] mask must have shape (4, 8), got (8, 4)");
  refuse([&](auto& args) { args.row_order = mass.view({3}); },
         "[venom_select] row_order must be i32, got f64");
  refuse([&](auto& args) { args.column_order = rows.view({4}); },
         "[venom_select] column_order must have shape (8), got (4)");
  refuse([](auto& args) { args.v = 0; }, "[venom_select] v must be 1 or more, got 0");
  refuse([](auto& args) { args.m = 0; }, "[venom_select] m must be 1 or more, got 0");
  refuse([&](auto& args) { args.mass = rows.view({4}); },
         "[venom_select] mass must be f64, got i32");
  refuse([&](auto& args) { args.mass = View(mass.view({3}).bytes(), DType::kF64, {2}); },
         "[venom_select] mass must have shape (3), got (2)");
}

TEST(VenomSelectErrors, CpuStoresNoBf16) {
  const Buffer x(Values(4), DType::kBf16), mask(Values(4), DType::kU8);
  const VenomSelectArgs args{.x = x.view({1, 4}), .mask = mask.view({1, 4})};
  expect_error([&] { venom_select(Context(cpu_table(), 1), args); },
               "[venom_select] the cpu backend computes in f32 and got bf16");
}

TEST(VenomSelectErrors, CpuRunsF32) {
  const Buffer x(Values(4), DType::kF64), mask(Values(4), DType::kU8);
  const VenomSelectArgs args{.x = x.view({1, 4}), .mask = mask.view({1, 4})};
  expect_error([&] { venom_select(Context(cpu_table(), 1), args); },
               "[venom_select] the cpu backend runs f32");
}

}  // namespace
}  // namespace twill
