// SPDX-License-Identifier: Apache-2.0
#include "ops/products/gemm.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct GemmProblem {
  std::int64_t m, n, k;
  bool trans_a = false, trans_b = false, accumulate = false;
  Values a = {}, b = {}, c = {};
  Values bias = {}, addend = {};  // empty: absent
  bool wide_c = false;            // f32 beside bf16 operands

  Outputs run(const Setup& setup) const {
    const auto like_c = [&](const Values& values) {
      return wide_c ? setup.wide(values) : setup.buffer(values);
    };
    const Buffer a_in = setup.buffer(a), b_in = setup.buffer(b), c_out = like_c(c);
    const Buffer bias_in = setup.buffer(bias), addend_in = like_c(addend);
    gemm(*setup.context(), {.a = a_in.view(trans_a ? Shape{k, m} : Shape{m, k}),
                            .b = b_in.view(trans_b ? Shape{n, k} : Shape{k, n}),
                            .c = c_out.view({m, n}),
                            .trans_a = trans_a,
                            .trans_b = trans_b,
                            .bias = optional_view(bias_in, {n}),
                            .addend = optional_view(addend_in, {m, n}),
                            .accumulate = accumulate});
    return {{"c", c_out.values(), c_out.dtype()}};
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> out;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        N sum{};
        for (std::int64_t l = 0; l < k; ++l)
          sum += N(a[trans_a ? l * m + i : i * k + l]) * N(b[trans_b ? j * k + l : l * n + j]);
        if (!bias.empty()) sum += N(bias[j]);
        if (!addend.empty()) sum += N(addend[i * n + j]);
        if (accumulate) sum += N(c[i * n + j]);
        out.push_back(sum);
      }
    }
    return {out};
  }

  // (K + 3) eps Σ|terms| + eps |c|, as the header says; a bias may be added to a bf16 c that has
  // been rounded already.
  ErrorModel model(DType dtype) const {
    const bool rounds_twice = dtype == DType::kBf16 && !wide_c && !bias.empty();
    return {.terms = static_cast<double>(k + 3) + (rounds_twice ? kEpsBf16 / kEpsF32 : 0.0)};
  }
};

// The five bits of `options` switch transposes, bias, addend and accumulation.
GemmProblem random_problem(Random& random, std::int64_t m, std::int64_t n, std::int64_t k,
                           int options) {
  const auto chosen = [&](int bit) { return (options >> bit & 1) != 0; };
  const bool all_absent = k == 0 && (options & 0b11100) == 0;
  return {.m = m,
          .n = n,
          .k = k,
          .trans_a = chosen(0),
          .trans_b = chosen(1),
          .accumulate = chosen(2) || all_absent,  // an empty product alone would be zero
          .a = random.normal(m * k),
          .b = random.normal(k * n),
          .c = random.normal(m * n),
          .bias = chosen(3) ? random.normal(n) : Values(),
          .addend = chosen(4) ? random.normal(m * n) : Values()};
}

testing::AssertionResult check_one(const Setup& setup, const GemmProblem& problem) {
  return judge(setup, problem, problem.model(setup.dtype))
         << fmt::format(" for (m, n, k) = ({}, {}, {}), transposes {} {}", problem.m, problem.n,
                        problem.k, problem.trans_a, problem.trans_b);
}

// Every size in every place, every option with many sizes.
std::vector<std::array<std::int64_t, 3>> awkward_shapes() {
  std::vector<std::array<std::int64_t, 3>> shapes;
  for (const std::int64_t m : {0, 1, 3, 8, 17})
    for (const std::int64_t n : {0, 1, 7, 16, 33})
      for (const std::int64_t k : {0, 1, 3, 9, 31}) shapes.push_back({m, n, k});
  for (const std::int64_t size : {64, 65, 130, 257}) {
    shapes.push_back({size, 17, 9});
    shapes.push_back({5, size, 33});
    shapes.push_back({9, 31, size});
  }
  shapes.push_back({130, 65, 257});
  return shapes;
}

}  // namespace

testing::AssertionResult check_gemm(const Setup& setup) {
  Random random;
  int options = 0;
  for (const auto& [m, n, k] : awkward_shapes())
    for (int repeat = 0; repeat < 4; ++repeat) {
      const GemmProblem problem = random_problem(random, m, n, k, options++ % 32);
      if (auto result = check_one(setup, problem); !result) return result;
    }
  return testing::AssertionSuccess();
}

namespace {

class Gemm : public TableTest {};

TEST_P(Gemm, MatchesOracleOnAwkwardShapes) { EXPECT_TRUE(check_gemm(GetParam())); }

TEST_P(Gemm, MatchesOracleOnAwkwardData) {
  Random random;
  GemmProblem problem = random_problem(random, 17, 33, 65, 0b11100);
  problem.a = random.normal(17 * 65, 1e-20);
  problem.b = random.normal(65 * 33, 1e-20);  // products below the normal range
  EXPECT_TRUE(check_one(GetParam(), problem));
  problem.a = random.normal(17 * 65, 1.0, 1e4);
  problem.b = random.normal(65 * 33, 1e4);  // sums that cancel
  EXPECT_TRUE(check_one(GetParam(), problem));
}

// The gradient of a weight: bf16 operands, an f32 result.
TEST_P(Gemm, KeepsAWideResult) {
  Random random;
  for (int options = 0; options < 32; ++options) {
    GemmProblem problem = random_problem(random, 40, 24, 136, options);
    problem.wide_c = true;
    EXPECT_TRUE(check_one(GetParam(), problem)) << "options " << options;
  }
}

// Shapes of the size that a search for algorithms bothers with.
TEST_P(Gemm, MatchesOracleOnALargerProduct) {
  Random random;
  for (const bool wide_c : {false, true}) {
    GemmProblem problem = random_problem(random, 264, 520, 392, wide_c ? 0b00101 : 0b11010);
    problem.wide_c = wide_c;
    EXPECT_TRUE(check_one(GetParam(), problem));
  }
}

// An activation in the product is the activation behind the product, to the roundings of both: the
// stored sum may have been rounded to bf16 in between (slopes of gelu are below 1.13).
TEST_P(Gemm, EpiloguesMatchSeparateOps) {
  const auto& setup = GetParam();
  Random random;
  const std::int64_t m = 64, n = 72, k = 48;
  const Values a = random.normal(m * k), b = random.normal(n * k, 0.2), bias = random.normal(n);
  const Values kept = random.normal(m * n);
  const auto run = [&](const auto& on, GemmEpilogue epilogue) {
    const Buffer a_in = on.buffer(a), b_in = on.buffer(b), bias_in = on.buffer(bias);
    const Buffer c = on.buffer(rubbish(m * n)), before = on.buffer(kept);
    const bool forward = epilogue == GemmEpilogue::kActivation;
    gemm(*on.context(), {.a = a_in.view({m, k}),
                         .b = b_in.view({n, k}),
                         .c = c.view({m, n}),
                         .trans_b = true,
                         .bias = forward ? bias_in.view({n}) : View(),
                         .epilogue = epilogue,
                         .activation = Activation::kGeluTanh,
                         .before = before.view({m, n})});
    return std::pair(c.values(), before.values());
  };
  for (const auto epilogue : {GemmEpilogue::kActivation, GemmEpilogue::kActivationGradient}) {
    const auto [got, before] = run(setup, epilogue);
    const auto [want, want_before] = run(oracle(), epilogue);
    const double eps = setup.dtype == DType::kBf16 ? kEpsBf16 : 64 * kEpsF32;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double size = 4.0 + std::abs(want[i]) + std::abs(want_before[i]);
      ASSERT_NEAR(got[i], want[i], 3.0 * eps * size) << i;
      ASSERT_NEAR(before[i], want_before[i], eps * size) << i;
    }
  }
}

// Sums of small integers are exact in every order.
TEST_P(Gemm, IsExactOnIntegers) {
  Random random;
  for (int options = 0; options < 32; ++options) {
    GemmProblem problem = random_problem(random, 33, 17, 130, options);
    if (GetParam().dtype == DType::kBf16) problem.bias.clear();  // may be rounded twice
    for (Values* values : {&problem.a, &problem.b, &problem.c, &problem.bias, &problem.addend})
      *values = random.integers(static_cast<std::int64_t>(values->size()), -8, 8);
    EXPECT_TRUE(judge_exact(GetParam(), problem)) << "options " << options;
  }
}

TEST_P(Gemm, PropagatesNanAndInf) {
  Random random;
  for (int options = 0; options < 32; ++options) {
    GemmProblem problem = random_problem(random, 9, 17, 33, options);
    problem.a[40] = kNan;
    problem.a[100] = kInf;
    problem.b[200] = 0.0;
    problem.b[300] = -kInf;
    EXPECT_TRUE(judge_specials(GetParam(), problem)) << "options " << options;
  }
}

// What c held is not read unless accumulating.
TEST_P(Gemm, OverwritesNan) {
  Random random;
  GemmProblem problem = random_problem(random, 5, 9, 3, 0);
  problem.c.assign(problem.c.size(), kNan);
  EXPECT_TRUE(judge_specials(GetParam(), problem));
}

INSTANTIATE_TEST_SUITE_P(Tables, Gemm, testing::ValuesIn(setups_with_device()), setup_name);

class GemmReference : public SeededTest {};

TEST_F(GemmReference, MultipliesByHand) {
  const GemmProblem problem{.m = 2,
                            .n = 2,
                            .k = 3,
                            .accumulate = true,
                            .a = {1, 2, 3, 4, 5, 6},
                            .b = {1, -1, 2, 0, 0, 3},
                            .c = {1000, 2000, 3000, 4000},
                            .bias = {10, 20},
                            .addend = {100, 200, 300, 400}};
  EXPECT_EQ(problem.run(oracle())[0].values, (Values{1115, 2228, 3324, 4434}));
}

TEST_F(GemmReference, TransposesByHand) {
  GemmProblem problem{
      .m = 2, .n = 2, .k = 2, .a = {1, 2, 3, 4}, .b = {5, 6, 7, 8}, .c = rubbish(4)};
  EXPECT_EQ(problem.run(oracle())[0].values, (Values{19, 22, 43, 50}));
  problem.trans_a = true;
  EXPECT_EQ(problem.run(oracle())[0].values, (Values{26, 30, 38, 44}));
  problem.trans_b = true;
  EXPECT_EQ(problem.run(oracle())[0].values, (Values{23, 31, 34, 46}));
  problem.trans_a = false;
  EXPECT_EQ(problem.run(oracle())[0].values, (Values{17, 23, 39, 53}));
}

// ⟨A X, Y⟩ = ⟨X, Aᵀ Y⟩ = ⟨A, Y Xᵀ⟩: forward, gradient of the input, gradient of the weight.
TEST_F(GemmReference, ObeysTheAdjointLaw) {
  Random random;
  const std::int64_t m = 5, n = 4, k = 7;
  const Values a = random.integers(m * k, -9, 9), x = random.integers(k * n, -9, 9),
               y = random.integers(m * n, -9, 9);
  const auto product = [](GemmProblem problem) {
    problem.c = rubbish(problem.m * problem.n);
    return problem.run(oracle())[0].values;
  };
  const auto inner = [](const Values& u, const Values& v) {
    double sum = 0.0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
    return sum;
  };
  const double forward = inner(product({.m = m, .n = n, .k = k, .a = a, .b = x}), y);
  const Values dx = product({.m = k, .n = n, .k = m, .trans_a = true, .a = a, .b = y});
  const Values da = product({.m = m, .n = k, .k = n, .trans_b = true, .a = y, .b = x});
  EXPECT_EQ(forward, inner(dx, x));
  EXPECT_EQ(forward, inner(da, a));
  EXPECT_NE(forward, 0.0);
}

TEST(GemmErrors, NameTheOperand) {
  const Buffer six({1, 2, 3, 4, 5, 6}, DType::kF32), two({1, 2}, DType::kF32);
  const View a = six.view({2, 3}), b = six.view({3, 2}), c = six.view({3, 2});
  const Buffer four({0, 0, 0, 0}, DType::kF32);
  const GemmArgs good{.a = a, .b = b, .c = four.view({2, 2})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](GemmArgs& args) { args.a = {}; }, "[gemm] a is missing");
  expect_refused(
      good, [&](GemmArgs& args) { args.a = six.view({6}); },
      "[gemm] a, b and c must be matrices, got (6), (3, 2), (2, 2)");
  expect_refused(
      good, [&](GemmArgs& args) { args.c = c; }, "[gemm] a must have shape (3, 3), got (2, 3)");
  expect_refused(
      good, [&](GemmArgs& args) { args.b = a; }, "[gemm] b must have shape (3, 2), got (2, 3)");
  expect_refused(
      good, [](GemmArgs& args) { args.trans_b = true; },
      "[gemm] b must have shape (2, 3), got (3, 2)");
  expect_refused(
      good, [](GemmArgs& args) { args.trans_a = true; },
      "[gemm] a must have shape (2, 2), got (2, 3)");
  expect_refused(
      good, [&](GemmArgs& args) { args.bias = six.view({6}); },
      "[gemm] bias must have shape (2), got (6)");
  expect_refused(
      good,
      [&](GemmArgs& args) {
        args.addend = two.view({1, 2});
      },
      "[gemm] addend must have shape (2, 2), got (1, 2)");
}

}  // namespace
}  // namespace twill
