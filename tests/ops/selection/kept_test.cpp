// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/kept.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"
#include "support/sparse_data.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Bytes of which `share` in 1024 are kept; a kept one may be any but 0.
Values mask_of(Random& random, std::int64_t count, std::int64_t share) {
  Values mask = random.integers(count, 1, 255);
  const Values draw = random.integers(count, 0, 1023);
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (draw[i] >= static_cast<double>(share)) mask[i] = 0.0;
  return mask;
}

std::int64_t num_kept(const Values& mask) {
  return std::count_if(mask.begin(), mask.end(), [](double byte) { return byte != 0.0; });
}

// The positions of a mask as the test knows them, for ops that take them.
class Positions {
 public:
  Positions(const Setup& setup, const Values& mask, std::int64_t rows, std::int64_t cols)
      : rows_(rows),
        count_(num_kept(mask)),
        row_begin_(begins(setup, mask, rows, cols)),
        column_(columns(setup, mask, cols)) {}

  KeptPositions kept() const { return {row_begin_.view({rows_ + 1}), column_.view({count_})}; }

 private:
  static Buffer begins(const Setup& setup, const Values& mask, std::int64_t rows,
                       std::int64_t cols) {
    Values begin{0.0};
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto from = mask.begin() + row * cols;
      begin.push_back(begin.back() + static_cast<double>(num_kept(Values(from, from + cols))));
    }
    return setup.buffer(begin, DType::kI32);
  }
  static Buffer columns(const Setup& setup, const Values& mask, std::int64_t cols) {
    Values column;
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (mask[i] != 0.0)
        column.push_back(static_cast<double>(static_cast<std::int64_t>(i) % cols));
    return setup.buffer(column, DType::kI32);
  }

  std::int64_t rows_, count_;
  Buffer row_begin_, column_;
};

struct FindProblem {
  Values mask;
  std::int64_t rows, cols;
  std::int64_t room = 0;  // for entries that are not there

  Outputs run(const Setup& setup) const {
    const std::int64_t count = num_kept(mask) + room;
    const Buffer mask_in = setup.buffer(mask, DType::kU8);
    const Buffer begin =
        setup.buffer(Values(static_cast<std::size_t>(rows + 1), -7.0), DType::kI32);
    const Buffer column = setup.buffer(Values(static_cast<std::size_t>(count), -7.0), DType::kI32);
    find_kept(*setup.context(), {.mask = mask_in.view({rows, cols}),
                                 .row_begin = begin.view({rows + 1}),
                                 .column = column.view({count})});
    return {{"row_begin", begin.values()}, {"column", column.values()}};
  }
};

// Kept entries to values and, changed, back.
struct CopyProblem {
  Values dense, mask;
  std::int64_t rows, cols;
  bool accumulate = false;  // to threes

  Outputs run(const Setup& setup) const {
    const Positions positions(setup, mask, rows, cols);
    const Shape shape{rows, cols}, length{num_kept(mask)};
    const Values before(static_cast<std::size_t>(length[0]), accumulate ? 3.0 : 1e30);
    const Buffer from = setup.wide(dense), values = setup.wide(before);
    gather_kept(*setup.context(), {.dense = from.view(shape),
                                   .kept = positions.kept(),
                                   .values = values.view(length),
                                   .accumulate = accumulate});
    Values turned = values.values();
    std::reverse(turned.begin(), turned.end());
    const Buffer to = setup.wide(dense), changed = setup.wide(turned);
    scatter_kept(
        *setup.context(),
        {.values = changed.view(length), .kept = positions.kept(), .dense = to.view(shape)});
    return {{"values", values.values()}, {"dense", to.values()}};
  }
};

struct GradientProblem {
  std::int64_t m, rows, cols;
  Values mask = {}, dy = {}, x = {};
  Values before = {};  // as long as there are kept entries
  bool accumulate = false;

  Outputs run(const Setup& setup) const { return run_on(setup, *setup.context()); }

  Outputs run_on(const Setup& setup, const Context& context) const {
    const Positions positions(setup, mask, rows, cols);
    const Buffer dy_in = setup.wide(dy), x_in = setup.wide(x), values = setup.wide(before);
    kept_gradient(context, {.dy = dy_in.view({m, rows}),
                            .x = x_in.view({m, cols}),
                            .kept = positions.kept(),
                            .values = values.view({num_kept(mask)}),
                            .accumulate = accumulate});
    return {{"values", values.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> out;
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      if (mask[static_cast<std::size_t>(i)] == 0.0) continue;
      N sum = accumulate ? N(before[out.size()]) : N{};
      for (std::int64_t t = 0; t < m; ++t)
        sum += N(dy[static_cast<std::size_t>(t * rows + i / cols)]) *
               N(x[static_cast<std::size_t>(t * cols + i % cols)]);
      out.push_back(sum);
    }
    return {out};
  }
};

GradientProblem random_gradient(Random& random, std::int64_t m, std::int64_t rows,
                                std::int64_t cols, std::int64_t share) {
  GradientProblem problem{.m = m, .rows = rows, .cols = cols};
  problem.mask = mask_of(random, rows * cols, share);
  problem.dy = random.normal(m * rows);
  problem.x = random.normal(m * cols);
  problem.before = random.normal(num_kept(problem.mask));
  return problem;
}

// (M + 3) eps Σ|terms|, as the header says.
testing::AssertionResult check_one(const Setup& setup, const GradientProblem& problem) {
  const ErrorModel model{.terms = static_cast<double>(problem.m + 3), .eps_out = 0.0};
  return judge(setup, problem, model)
         << fmt::format(" for M {}, ({}, {}), {} kept, accumulate {}", problem.m, problem.rows,
                        problem.cols, num_kept(problem.mask), problem.accumulate);
}

}  // namespace

testing::AssertionResult check_find_kept(const Setup& setup) {
  Random random;
  for (const std::int64_t cols : kAwkwardSizes)
    for (const std::int64_t rows : {0, 1, 19, 150})
      for (const std::int64_t share : {0, 100, 600, 1024}) {
        const FindProblem problem{mask_of(random, rows * cols, share), rows, cols, cols % 3};
        if (auto result = judge_exact(setup, problem); !result)
          return result << fmt::format(" for ({}, {}), {} of 1024", rows, cols, share);
      }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_copy_kept(const Setup& setup) {
  Random random;
  for (const std::int64_t cols : kAwkwardSizes)
    for (const std::int64_t rows : {0, 1, 19, 150})
      for (const std::int64_t share : {0, 100, 1024}) {
        CopyProblem problem{awkward_values(random, rows * cols),
                            mask_of(random, rows * cols, share), rows, cols};
        for (const bool accumulate : {false, true}) {
          problem.accumulate = accumulate;
          if (auto result = judge_exact(setup, problem); !result)
            return result << fmt::format(" for ({}, {}), {} of 1024", rows, cols, share);
        }
      }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_kept_gradient(const Setup& setup) {
  Random random;
  const std::int64_t shares[] = {0, 30, 100, 512, 1024};
  std::size_t turn = 0;
  for (const std::int64_t m : {1, 3, 16, 63, 64, 65, 130, 577})
    for (const std::int64_t rows : {0, 1, 7, 33, 130})
      for (const std::int64_t cols : {0, 1, 15, 96, 97, 200}) {
        if (m * rows * cols > 130 * 33 * 200 && turn % 2 == 0) continue;  // half of the large ones
        auto problem = random_gradient(random, m, rows, cols, shares[turn++ % 5]);
        problem.accumulate = turn % 3 == 0;
        if (auto result = check_one(setup, problem); !result) return result;
      }
  return testing::AssertionSuccess();
}

namespace {

class Kept : public TableTest {};

TEST_P(Kept, FindIsExact) { EXPECT_TRUE(check_find_kept(GetParam())); }
TEST_P(Kept, CopiesAreExact) { EXPECT_TRUE(check_copy_kept(GetParam())); }
TEST_P(Kept, GradientMatchesOracle) { EXPECT_TRUE(check_kept_gradient(GetParam())); }

TEST_P(Kept, LiteralValues) {
  const Values mask{0, 9, 1, 0, 0, 0, 255, 0, 0};
  const Outputs found = FindProblem{mask, 3, 3, 1}.run(GetParam());
  EXPECT_EQ(found[0].values, (Values{0, 2, 2, 3}));
  EXPECT_EQ(found[1].values, (Values{1, 2, 0, -7}));
  const Outputs copied = CopyProblem{{1, 2, 3, 4, 5, 6, 7, 8, 9}, mask, 3, 3}.run(GetParam());
  EXPECT_EQ(copied[0].values, (Values{2, 3, 7}));
  EXPECT_EQ(copied[1].values, (Values{1, 7, 3, 4, 5, 6, 2, 8, 9}));
  GradientProblem gradient{.m = 2,
                           .rows = 3,
                           .cols = 3,
                           .mask = mask,
                           .dy = {1, 2, 3, 4, 5, 6},
                           .x = {10, 20, 30, 40, 50, 60},
                           .before = {1, 2, 3}};
  EXPECT_EQ(gradient.run(GetParam())[0].values, (Values{220, 270, 270}));
  gradient.accumulate = true;
  EXPECT_EQ(gradient.run(GetParam())[0].values, (Values{221, 272, 273}));
}

// Many pieces of every cut: rows, columns, tokens. Sums of small integers are exact in every order.
TEST_P(Kept, GradientIsExactOnIntegers) {
  Random random;
  const std::int64_t shapes[][3] = {{70, 1100, 5}, {1100, 3, 300}, {520, 40, 100}, {64, 600, 210}};
  for (const auto& [m, rows, cols] : shapes)
    for (const std::int64_t share : {100, 700}) {
      auto problem = random_gradient(random, m, rows, cols, share);
      for (Values* values : {&problem.dy, &problem.x, &problem.before})
        *values = random.integers(static_cast<std::int64_t>(values->size()), -8, 8);
      problem.accumulate = share == 100;
      EXPECT_TRUE(judge_exact(GetParam(), problem)) << m << " tokens, " << share << " of 1024";
    }
}

// What a topology looks like after a while: rows that are full, empty, or nearly so.
TEST_P(Kept, GradientOfUnevenRows) {
  Random random;
  auto problem = random_gradient(random, 130, 61, 203, 1024);
  const Values draw = random.integers(61 * 203, 0, 1023);
  for (std::size_t i = 0; i < draw.size(); ++i) {
    const std::size_t row = i / 203;
    const double share = row % 5 == 0   ? 1024.0
                         : row % 5 == 1 ? 0.0
                                        : 8.0 * static_cast<double>(row);
    if (draw[i] >= share) problem.mask[i] = 0.0;
  }
  problem.before = random.normal(num_kept(problem.mask));
  EXPECT_TRUE(check_one(GetParam(), problem));
  problem.accumulate = true;
  EXPECT_TRUE(check_one(GetParam(), problem));
}

TEST_P(Kept, GradientOfAwkwardData) {
  Random random;
  auto problem = random_gradient(random, 65, 17, 33, 300);
  problem.dy = random.normal(65 * 17, 1e-20);
  problem.x = random.normal(65 * 33, 1e-20);  // products below the normal range
  EXPECT_TRUE(check_one(GetParam(), problem));
  problem.dy = random.normal(65 * 17, 1.0, 1e4);
  problem.x = random.normal(65 * 33, 1e4);  // sums that cancel
  EXPECT_TRUE(check_one(GetParam(), problem));
}

// NaN and Inf are seen by the entries that they are terms of, and by no other; what values held is
// not read unless accumulating.
TEST_P(Kept, GradientSeesItsOwnTermsOnly) {
  Random random;
  for (const std::int64_t m : {1, 63, 65}) {
    auto problem = random_gradient(random, m, 21, 120, 200);
    problem.before.assign(problem.before.size(), kNan);
    const auto forget = [&](std::int64_t row, std::int64_t col) {
      problem.mask[static_cast<std::size_t>(row * 120 + col)] = 0.0;
    };
    for (std::int64_t row = 0; row < 21; ++row) forget(row, 5), forget(row, 119);
    for (std::int64_t col = 0; col < 120; ++col) forget(3, col);
    for (std::int64_t t = 0; t < m; ++t) {
      problem.x[static_cast<std::size_t>(t * 120 + 5)] = kNan;
      problem.x[static_cast<std::size_t>(t * 120 + 119)] = kInf;
      problem.dy[static_cast<std::size_t>(t * 21 + 3)] = kNan;
    }
    problem.before.resize(static_cast<std::size_t>(num_kept(problem.mask)));
    const Values got = problem.run(GetParam())[0].values;
    EXPECT_TRUE(std::ranges::all_of(got, [](double value) { return std::isfinite(value); }));
    problem.x[static_cast<std::size_t>((m - 1) * 120 + 64)] = kNan;
    problem.x[static_cast<std::size_t>((m - 1) * 120 + 97)] = -kInf;
    EXPECT_TRUE(judge_specials(GetParam(), problem)) << m << " tokens";
  }
}

TEST_P(Kept, GradientOfNoTokens) {
  Random random;
  auto problem = random_gradient(random, 0, 9, 100, 200);
  const Values before = problem.before;
  EXPECT_EQ(problem.run(GetParam())[0].values, Values(before.size(), 0.0));
  problem.accumulate = true;
  EXPECT_EQ(problem.run(GetParam())[0].values, before);
}

// What one call leaves in the memory that a queue keeps is not seen by the next.
TEST_P(Kept, GradientForgetsEarlierCalls) {
  Random random;
  const auto context = GetParam().context();
  const auto large = random_gradient(random, 200, 70, 230, 300);
  const auto small = random_gradient(random, 5, 30, 100, 900);
  auto poison = large;
  poison.x.assign(poison.x.size(), kNan);
  const Outputs want_large = large.run(GetParam()), want_small = small.run(GetParam());
  poison.run_on(GetParam(), *context);
  EXPECT_TRUE(expect_same_bits(small.run_on(GetParam(), *context), want_small));
  poison.run_on(GetParam(), *context);
  EXPECT_TRUE(expect_same_bits(large.run_on(GetParam(), *context), want_large));
}

TEST_P(Kept, FindRefusesTooLittleRoom) {
  const FindProblem problem{{1, 0, 3, 4}, 2, 2, -1};
  expect_error([&] { problem.run(GetParam()); },
               "[find_kept] column must hold the 3 kept entries of mask, got 2");
}

INSTANTIATE_TEST_SUITE_P(Tables, Kept, testing::ValuesIn(setups_under_test()), setup_name);

TEST(KeptErrors, NameTheProblemOfFindKept) {
  const Buffer mask(Values(6), DType::kU8), begin(Values(3), DType::kI32);
  const Buffer column(Values(6), DType::kI32), x(Values(6), DType::kF32);
  const FindKeptArgs good{
      .mask = mask.view({2, 3}), .row_begin = begin.view({3}), .column = column.view({6})};
  EXPECT_NO_THROW(validate(good));
  const View tall = mask.view({3, 2}), floats = x.view({2, 3}), square = column.view({2, 3});
  const View large(tall.bytes(), DType::kU8, {2, 1LL << 30});
  const auto refused = [&](const auto& change, auto text) { expect_refused(good, change, text); };
  refused([](auto& args) { args.mask = {}; }, "[find_kept] mask is missing");
  refused([&](auto& args) { args.mask = floats; }, "[find_kept] mask must be u8, got f32");
  refused([&](auto& args) { args.mask = mask.view({6}); },
          "[find_kept] mask must be a matrix, got (6)");
  refused([](auto& args) { args.row_begin = {}; }, "[find_kept] row_begin is missing");
  refused([&](auto& args) { args.row_begin = x.view({6}); },
          "[find_kept] row_begin must be i32, got f32");
  refused([&](auto& args) { args.mask = tall; },
          "[find_kept] row_begin must have shape (4), got (3)");
  refused([&](auto& args) { args.column = square; },
          "[find_kept] column must have one dimension, got shape (2, 3)");
  refused([&](auto& args) { args.mask = large; },
          "[find_kept] the matrix must have fewer than 2^31 elements, got 2 x 1073741824");
}

TEST(KeptErrors, NameTheProblemOfTheOthers) {
  const Buffer x(Values(6), DType::kF32), wide(Values(6), DType::kF64);
  const Buffer begin(Values(3), DType::kI32), column(Values(6), DType::kI32);
  const auto part = [&](Shape shape) {
    return x.view({6}).slice(0, shape.num_elements()).reshaped(shape);
  };
  const KeptPositions kept{begin.view({3}), column.view({6})};
  const GatherKeptArgs gather{.dense = x.view({2, 3}), .kept = kept, .values = x.view({6})};
  const ScatterKeptArgs scatter{.values = x.view({6}), .kept = kept, .dense = x.view({2, 3})};
  const KeptGradientArgs gradient{.dy = x.view({3, 2}),
                                  .x = x.view({3, 2}),
                                  .kept = {begin.view({3}), begin.view({3})},
                                  .values = part({3})};
  EXPECT_NO_THROW((validate(gather), validate(scatter), validate(gradient)));
  const auto without_kept = [](auto& args) { args.kept = {}; };
  const auto wide_values = [&](auto& args) { args.values = wide.view({6}); };
  const View wide_x = x.view({2, 3}), tall_x = x.view({3, 2});
  const View square_x = part({2, 2}), thin = part({3, 1});
  const auto matrix_values = [&](auto& args) { args.values = wide_x; };
  const auto flat_dense = [&](auto& args) { args.dense = x.view({6}); };
  const auto tall_dense = [&](auto& args) { args.dense = tall_x; };
  const auto small_dense = [&](auto& args) { args.dense = square_x; };
  expect_refused(gather, without_kept, "[gather_kept] row_begin is missing");
  expect_refused(gather, wide_values, "[gather_kept] values must be f32 like dense, got f64");
  expect_refused(gather, matrix_values, "[gather_kept] values must have shape (6), got (2, 3)");
  expect_refused(gather, tall_dense, "[gather_kept] row_begin must have shape (4), got (3)");
  expect_refused(gather, small_dense,
                 "[gather_kept] column must have at most the 4 elements of the matrix, got 6");
  expect_refused(scatter, flat_dense, "[scatter_kept] dense must be a matrix, got (6)");
  const auto without_x = [](auto& args) { args.x = {}; };
  const auto short_x = [&](auto& args) { args.x = wide_x; };
  const auto flat_x = [&](auto& args) { args.x = x.view({6}); };
  const auto thin_dy = [&](auto& args) { args.dy = thin; };
  const auto float_column = [&](auto& args) { args.kept.column = x.view({6}); };
  expect_refused(gradient, without_x, "[kept_gradient] x is missing");
  expect_refused(gradient, short_x, "[kept_gradient] dy must have shape (2, 2), got (3, 2)");
  expect_refused(gradient, flat_x, "[kept_gradient] x must be a matrix, got (6)");
  expect_refused(gradient, thin_dy, "[kept_gradient] row_begin must have shape (2), got (3)");
  expect_refused(gradient, float_column, "[kept_gradient] column must be i32, got f32");
}

}  // namespace
}  // namespace twill
