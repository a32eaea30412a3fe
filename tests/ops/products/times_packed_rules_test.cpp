// SPDX-License-Identifier: Apache-2.0
// What times_packed promises beside its error: what it stores, what it may not depend on, and what
// it may not see.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/products/times_packed_problem.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class TimesPackedRules : public TableTest {};

// c = f(before as stored): who keeps only `before` computes c again and has the same bits.
TEST_P(TimesPackedRules, AnActivationIsComputedFromWhatIsStored) {
  Random random;
  const auto& on = GetParam();
  for (const MaskKind kind : kMaskKinds) {
    for (const Activation activation :
         {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu2, Activation::kSwiglu,
          Activation::kGeglu, Activation::kGegluTanh}) {
      const PackedOperand packed =
          random_operand(random, kind, is_gated(activation) ? 96 : 97, 132, 0.3);
      TimesPackedProblem problem = random_problem(random, 35, packed, 3);
      problem.epilogue = GemmEpilogue::kActivation;
      problem.activation = activation;
      const Outputs got = problem.run(on);
      const Shape shape{35, problem.columns_of_c()};
      const Buffer before = on.buffer(got[0].values);
      const Buffer again = on.buffer(rubbish(shape.num_elements()));
      activation_forward(
          *on.context(),
          {.kind = activation, .x = before.view({35, problem.n()}), .y = again.view(shape)});
      EXPECT_TRUE(expect_same_bits("c", got[1].values, again.values()));
      EXPECT_TRUE(std::ranges::any_of(got[1].values, [](double value) { return value > 1.0; }));
    }
  }
}

// Rows [begin, begin + count) of the problem, alone.
TimesPackedProblem row_range(const TimesPackedProblem& all, std::int64_t begin,
                             std::int64_t count) {
  const auto cut = [&](const Values& values) {
    const auto width = static_cast<std::int64_t>(values.size()) / all.m;
    return Values(values.begin() + begin * width, values.begin() + (begin + count) * width);
  };
  TimesPackedProblem some = all;
  some.m = count;
  some.x = cut(all.x);
  some.addend = cut(all.addend);
  some.before = cut(all.before);
  return some;
}

// Rows alone and among others, at every place in a block of rows.
TEST_P(TimesPackedRules, ARowDoesNotDependOnTheOthers) {
  Random random;
  constexpr std::int64_t kAll = 200;
  for (const MaskKind kind : kMaskKinds) {
    const PackedOperand packed = random_operand(random, kind, 52, 260, 0.4);
    const PackedOn packed_in(GetParam(), packed);
    for (const int options : {0, 3, 4 + 12, 8 + 12}) {
      const TimesPackedProblem all = random_problem(random, kAll, packed, options);
      const Outputs whole = all.run(GetParam(), packed_in);
      for (const std::int64_t count : {1, 2, 15, 16, 17, 33, 96, 97, 199}) {
        for (const std::int64_t begin : {std::int64_t{0}, (kAll - count) / 2, kAll - count}) {
          const Outputs part = row_range(all, begin, count).run(GetParam(), packed_in);
          const auto first = whole[0].values.begin() + begin * all.n();
          EXPECT_TRUE(
              expect_same_bits("rows", part[0].values, Values(first, first + count * all.n())))
              << fmt::format("rows {} to {}, options {}", begin, begin + count, options);
        }
      }
    }
  }
}

// New values under the old mask, zeros among them, and an old storage under a new mask.
TEST_P(TimesPackedRules, TakesWhatWasPackedLast) {
  Random random;
  for (const MaskKind kind : kMaskKinds) {
    const PackedOperand first = random_operand(random, kind, 52, 132, 0.4);
    PackedOperand second = first;
    second.dense = random.integers(first.rows() * first.cols(), -3, 3);
    PackedOperand third = second;
    for (double& byte : third.mask)
      if (!is_transposable(kind) && byte != 0.0) byte = random.integers(1, 0, 1)[0];
    const Values x = random.integers(18 * first.cols(), -3, 3);
    PackedOn packed(GetParam(), first);
    const auto expect_product = [&](const PackedOperand& operand) {
      const TimesPackedProblem problem{.m = 18, .packed = operand, .x = x};
      EXPECT_TRUE(expect_same_bits(problem.run(GetParam(), packed), problem.run(exact_oracle())));
    };
    packed.pack(second, /*same_mask=*/true);
    expect_product(second);
    packed.pack(third);
    expect_product(third);
  }
}

// NaN and Inf reach what keeps an entry there, a 0 included, and nobody else. Not behind gates: an
// infinite value times f of a gate far below 0 is NaN where f is 0 in f32, and infinite in the oracle.
TEST_P(TimesPackedRules, PropagatesNanAndInfThroughKeptEntriesOnly) {
  Random random;
  constexpr double kSpecials[] = {kNan, kInf, -kInf};
  for (const MaskKind kind : kMaskKinds) {
    for (int options = 0; options < kNumPlainOptions; options += 4) {
      const PackedOperand packed = random_operand(random, kind, 36, 132, 0.1);
      TimesPackedProblem problem = random_problem(random, 35, packed, options);
      const Values places = random.integers(35 * problem.k(), 0, 600);
      for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i] < 3.0) problem.x[i] = kSpecials[static_cast<std::size_t>(places[i])];
      EXPECT_TRUE(judge_specials(GetParam(), problem)) << "options " << options;
    }
  }
}

// Whatever fills short rows in the storage reads no column that nobody keeps: not the first, not
// the last, none of those between.
TEST_P(TimesPackedRules, DoesNotSeeColumnsThatNobodyKeeps) {
  Random random;
  const std::int64_t m = 35, n = 37, k = 300;
  for (const std::int64_t every : {2, 3, 100}) {
    PackedOperand packed = random_operand(random, MaskKind::kUneven, n, k);
    TimesPackedProblem problem = random_problem(random, m, packed, 2);
    for (std::int64_t col = 0; col < k; ++col) {
      if (col % every != 0 && col != k - 1) continue;
      for (std::int64_t row = 0; row < n; ++row) problem.packed.mask[packed.at(row, col)] = 0.0;
      for (std::int64_t row = 0; row < m; ++row) problem.x[index(row * k + col)] = kNan;
    }
    const Values c = problem.run(GetParam())[0].values;
    EXPECT_TRUE(std::ranges::all_of(c, [](double value) { return std::isfinite(value); })) << every;
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, TimesPackedRules, testing::ValuesIn(setups_under_test()),
                         setup_name);

}  // namespace
}  // namespace twill
