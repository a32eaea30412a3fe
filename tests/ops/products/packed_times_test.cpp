// SPDX-License-Identifier: Apache-2.0
#include "ops/products/packed_times.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "ops/checks.h"
#include "ops/products/packed_problem.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct PackedTimesProblem {
  PackedOperand packed;
  std::int64_t n;
  Values b;
  Values c = {};  // empty: not accumulating
  // How operands are handed over; all values here are in the order of the formula.
  bool trans_b = false, trans_c = false;
  Values bias = {}, addend = {};

  std::int64_t m() const { return packed.rows(); }
  std::int64_t k() const { return packed.cols(); }

  Outputs run(const Setup& setup) const { return run(setup, PackedOn(setup, packed)); }
  Outputs run(const Setup& setup, const PackedOn& packed_in) const {
    const Values held = c.empty() ? rubbish(m() * n) : c;
    const Buffer b_in = setup.buffer(trans_b ? transposed(b, k(), n) : b);
    const Buffer c_out = setup.buffer(trans_c ? transposed(held, m(), n) : held);
    const Buffer bias_in = setup.buffer(bias), addend_in = setup.buffer(addend);
    packed_times(*setup.context(), {.packed = packed_in.matrix(),
                                    .b = b_in.view(trans_b ? Shape{n, k()} : Shape{k(), n}),
                                    .c = c_out.view(trans_c ? Shape{n, m()} : Shape{m(), n}),
                                    .trans_b = trans_b,
                                    .trans_c = trans_c,
                                    .accumulate = !c.empty(),
                                    .bias = optional_view(bias_in, {n}),
                                    .addend = optional_view(addend_in, {m(), n})});
    return {{"c", trans_c ? transposed(c_out.values(), n, m()) : c_out.values()}};
  }

  // Scales are what the header allows as error, in eps.
  template <class N>
  Naive<N> naive() const {
    std::vector<N> out;
    for (std::int64_t i = 0; i < m(); ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        PackedSum sum;
        for (std::int64_t l = 0; l < k(); ++l)
          if (packed.is_kept(i, l))
            sum.add_kept(packed.dense[packed.at(i, l)] * b[index(l * n + j)]);
        if (!bias.empty()) sum.add(bias[index(j)]);
        if (!addend.empty()) sum.add(addend[index(i * n + j)]);
        if (!c.empty()) sum.add(c[index(i * n + j)]);
        out.push_back(N(sum.value, sum.error()));
      }
    }
    return {out};
  }

  // Below the normal range every rounding may cost half a step.
  ErrorModel model() const {
    return {.terms = 1.0, .eps_out = 0.0, .floor = static_cast<double>(k() + 3) * 0x1p-149};
  }
};

// A small product may be all zeros, which proves nothing: it accumulates.
PackedTimesProblem random_problem(Random& random, const PackedOperand& packed, std::int64_t n,
                                  bool accumulate) {
  PackedTimesProblem problem{packed, n, random.normal(packed.cols() * n)};
  const bool is_small = packed.rows() * n < 64 || packed.kept() < 64;
  if (accumulate || is_small) problem.c = random.normal(packed.rows() * n);
  return problem;
}

// One of six ways to hand the operands over.
void hand_over(PackedTimesProblem& problem, Random& random, int way) {
  problem.trans_b = way == 1 || way == 3 || way == 5;
  problem.trans_c = way == 2 || way == 3;
  if (way < 4) return;
  problem.c.clear();
  problem.bias = random.normal(problem.n);
  problem.addend = random.normal(problem.m() * problem.n);
}

testing::AssertionResult check_one(const Setup& setup, const PackedTimesProblem& problem) {
  return judge(setup, problem, problem.model()) << fmt::format(
             " for (m, n, k) = ({}, {}, {}), {} kept, transposable {}, accumulate {}, trans_b {}, "
             "trans_c {}, bias {}",
             problem.m(), problem.n, problem.k(), problem.packed.kept(),
             problem.packed.shape.pattern == PackedPattern::kTransposable24, !problem.c.empty(),
             problem.trans_b, problem.trans_c, !problem.bias.empty());
}

constexpr std::int64_t kRows[] = {1, 2, 4, 7, 15, 16, 17, 33, 64, 65, 96, 97, 200, 260, 517};
constexpr std::int64_t kWidths[] = {1, 3, 8, 15, 16, 17, 31, 36, 63, 64, 65, 96, 97, 132, 260};
constexpr std::int64_t kInputs[] = {1, 3, 8, 16, 17, 60, 64, 65, 96, 129, 257, 300, 513, 700};
constexpr double kDensities[] = {0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0};

}  // namespace

// Every kind of mask in turn; sizes and densities as drawn.
testing::AssertionResult check_packed_times(const Setup& setup) {
  Random random;
  const auto pick = [&](const auto& choices) {
    const auto last = static_cast<std::int64_t>(std::size(choices)) - 1;
    return choices[index(static_cast<std::int64_t>(random.integers(1, 0, last)[0]))];
  };
  for (int i = 0; i < 72; ++i) {
    const MaskKind kind = kMaskKinds[index(i) % std::size(kMaskKinds)];
    const std::int64_t m = pick(kRows), k = pick(kInputs);
    const PackedOperand packed = random_operand(random, kind, m, k, pick(kDensities));
    const bool accumulate = i / 6 % 2 == 1;
    auto problem = random_problem(random, packed, pick(kWidths), accumulate);
    hand_over(problem, random, i / 12);
    if (auto result = check_one(setup, problem); !result) return result << ", number " << i;
  }
  return testing::AssertionSuccess();
}

namespace {

class PackedTimes : public TableTest {};

TEST_P(PackedTimes, MatchesOracleOnRandomShapes) { EXPECT_TRUE(check_packed_times(GetParam())); }

TEST_P(PackedTimes, MatchesOracleOnEmptyProducts) {
  Random random;
  for (const std::int64_t m : {0, 1, 20})
    for (const std::int64_t n : {0, 1, 17})
      for (const std::int64_t k : {0, 1, 20})
        for (const double density : {0.0, 1.0}) {
          const auto packed = random_operand(random, MaskKind::kDensity, m, k, density);
          EXPECT_TRUE(check_one(GetParam(), random_problem(random, packed, n, true)));
        }
  for (const std::int64_t k : {0, 30}) {
    const auto nothing = random_operand(random, MaskKind::kDensity, 3, k, 0.0);
    const PackedTimesProblem empty{nothing, 20, random.normal(20 * k)};
    EXPECT_EQ(empty.run(GetParam())[0].values, Values(60, 0.0));
  }
}

TEST_P(PackedTimes, MatchesOracleOnAwkwardData) {
  Random random;
  for (const MaskKind kind : kMaskKinds) {
    const PackedOperand packed = random_operand(random, kind, 36, 132, 0.3);
    PackedTimesProblem problem = random_problem(random, packed, 17, false);
    for (double& value : problem.packed.dense) value = static_cast<float>(value * 1e-20);
    problem.b = random.normal(problem.k() * 17, 1e-20);  // products below the normal range
    EXPECT_TRUE(check_one(GetParam(), problem));
    problem.packed = packed;
    problem.b = random.normal(problem.k() * 17, 1.0, 1e4);  // sums that cancel
    EXPECT_TRUE(check_one(GetParam(), problem));
  }
}

// Sums of small integers are exact in every order.
TEST_P(PackedTimes, IsExactOnIntegers) {
  Random random;
  for (const MaskKind kind : kMaskKinds) {
    for (int way = 0; way < 12; ++way) {
      const PackedOperand packed = random_operand(random, kind, 65, 260, 0.3);
      PackedTimesProblem problem = random_problem(random, packed, 35, /*accumulate=*/way % 2 == 1);
      hand_over(problem, random, way / 2);
      for (Values* values :
           {&problem.packed.dense, &problem.b, &problem.c, &problem.bias, &problem.addend})
        *values = random.integers(static_cast<std::int64_t>(values->size()), -8, 8);
      EXPECT_TRUE(judge_exact(GetParam(), problem)) << "way " << way;
    }
  }
}

// Twelve ones beside 2^27, whose neighbour is 16 away: one by one they would all be lost.
TEST_P(PackedTimes, WhatCHeldIsAddedLast) {
  const std::int64_t m = 20, n = 33, k = 48;
  PackedTimesProblem problem{
      {.shape = {.rows = m, .cols = k, .max_kept = 12 * m}, .dense = Values(index(m * k), 0.0)},
      n,
      Values(index(k * n), 1.0),
      Values(index(m * n), 0x1p27)};
  for (std::int64_t row = 0; row < m; ++row)
    for (std::int64_t col = row % 4; col < k; col += 4)
      problem.packed.dense[problem.packed.at(row, col)] = 1.0;
  EXPECT_EQ(problem.run(GetParam())[0].values, Values(index(m * n), 0x1p27 + 16.0));
}

// New values under the old mask, zeros among them, and an old storage under a new mask.
TEST_P(PackedTimes, TakesWhatWasPackedLast) {
  Random random;
  for (const MaskKind kind : kMaskKinds) {
    const PackedOperand first = random_operand(random, kind, 52, 132, 0.4);
    PackedOperand second = first;
    second.dense = random.integers(first.rows() * first.cols(), -3, 3);
    PackedOperand third = second;
    for (double& byte : third.mask)
      if (!is_transposable(kind) && byte != 0.0) byte = random.integers(1, 0, 1)[0];
    const Values b = random.integers(18 * first.cols(), -3, 3);
    PackedOn packed(GetParam(), first);
    const auto expect_product = [&](const PackedOperand& operand) {
      const PackedTimesProblem problem{operand, 18, b};
      EXPECT_TRUE(expect_same_bits(problem.run(GetParam(), packed), problem.run(exact_oracle())));
    };
    packed.pack(second, /*same_mask=*/true);
    expect_product(second);
    packed.pack(third);
    expect_product(third);
  }
}

// NaN and Inf reach what keeps an entry there, a 0 included, and nobody else.
TEST_P(PackedTimes, PropagatesNanAndInfThroughKeptEntriesOnly) {
  Random random;
  constexpr double kSpecials[] = {kNan, kInf, -kInf};
  for (const MaskKind kind : kMaskKinds) {
    for (const bool accumulate : {false, true}) {
      const PackedOperand packed = random_operand(random, kind, 36, 132, 0.1);
      PackedTimesProblem problem = random_problem(random, packed, 35, accumulate);
      const Values places = random.integers(35 * problem.k(), 0, 600);
      for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i] < 3.0) problem.b[i] = kSpecials[static_cast<std::size_t>(places[i])];
      EXPECT_TRUE(judge_specials(GetParam(), problem)) << "accumulate " << accumulate;
    }
  }
}

// Whatever fills short rows in the storage reads no row of b that nobody keeps.
TEST_P(PackedTimes, DoesNotSeeRowsThatNobodyKeeps) {
  Random random;
  const std::int64_t m = 37, n = 35, k = 300;
  for (const std::int64_t every : {2, 3, 100}) {
    const PackedOperand packed = random_operand(random, MaskKind::kUneven, m, k);
    PackedTimesProblem problem = random_problem(random, packed, n, false);
    for (std::int64_t col = 0; col < k; ++col) {
      if (col % every != 0 && col != k - 1) continue;
      for (std::int64_t row = 0; row < m; ++row) problem.packed.mask[packed.at(row, col)] = 0.0;
      std::fill_n(problem.b.begin() + col * n, n, kNan);
    }
    const Values c = problem.run(GetParam())[0].values;
    EXPECT_TRUE(std::ranges::all_of(c, [](double value) { return std::isfinite(value); })) << every;
  }
}

// What c held is not read unless accumulating.
TEST_P(PackedTimes, OverwritesNan) {
  Random random;
  const auto& on = GetParam();
  for (const MaskKind kind : kMaskKinds) {
    const PackedOperand packed = random_operand(random, kind, 36, 60, 0.2);
    const PackedOn packed_in(on, packed);
    const Buffer b = on.buffer(random.normal(packed.cols() * 35));
    const Buffer c = on.buffer(Values(index(packed.rows() * 35), kNan));
    packed_times(*on.context(), {.packed = packed_in.matrix(),
                                 .b = b.view({packed.cols(), 35}),
                                 .c = c.view({packed.rows(), 35})});
    const Values got = c.values();
    EXPECT_TRUE(std::ranges::all_of(got, [](double value) { return std::isfinite(value); }));
  }
}

TEST_P(PackedTimes, LiteralValues) {
  // P = (1 . 0; . 2 -3), the 0 kept.
  PackedTimesProblem problem{{.shape = {.rows = 2, .cols = 3, .max_kept = 4},
                              .dense = {1, 9, 0, 9, 2, -3},
                              .mask = {1, 0, 1, 0, 1, 1}},
                             2,
                             {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{1, 2, -9, -10}));
  problem.c = {100, 200, 300, 400};
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{101, 202, 291, 390}));
  problem.b = {1, kInf, kNan, 4, 5, kInf};
  const Values c = problem.run(GetParam())[0].values;
  EXPECT_TRUE(expect_same_specials("c", c, {101, kNan, kNan, -kInf}));
}

INSTANTIATE_TEST_SUITE_P(Tables, PackedTimes, testing::ValuesIn(setups_under_test()), setup_name);

TEST(PackedTimesErrors, NameTheOperand) {
  const Buffer six(Values(6), DType::kF32), four(Values(4), DType::kF32);
  const Buffer bytes(Values(64), DType::kU8), wide(Values(4), DType::kF64);
  const PackedTimesArgs good{
      .packed = {.shape = {.rows = 2, .cols = 3}, .storage = bytes.view({64})},
      .b = six.view({3, 2}),
      .c = four.view({2, 2})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.b = {}; }, "[packed_times] b is missing");
  expect_refused(
      good, [](auto& args) { args.packed = {}; }, "[packed_times] the packed matrix is missing");
  expect_refused(
      good, [&](auto& args) { args.c = four.view({4}); },
      "[packed_times] b and c must be matrices, got (3, 2), (4)");
  expect_refused(
      good,
      [&](auto& args) {
        args.b = six.view({2, 3});
      },
      "[packed_times] b must have shape (2, 2), got (2, 3)");
  expect_refused(
      good, [](auto& args) { args.packed.shape.cols = 4; },
      "[packed_times] the packed matrix must be 2 x 3, got 2 x 4");
  expect_refused(
      good, [&](auto& args) { args.packed.storage = six.view({6}); },
      "[packed_times] storage must be u8, got f32");
  expect_refused(
      good,
      [&](auto& args) {
        args.c = wide.view({2, 2});
      },
      "[packed_times] c must be f32 like b, got f64");
}

}  // namespace
}  // namespace twill
