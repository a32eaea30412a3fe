// SPDX-License-Identifier: Apache-2.0
// rounded_cpu_table() owes the bits of the cpu backend on operands that were rounded beforehand, by
// arithmetic of the test's own.
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/attention/attention_problem.h"
#include "ops/attention/cached_attention.h"
#include "ops/products/gemm.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Eight significant bits, ties to even: bf16 in its normal range.
double nearest_bf16(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

Values rounded(Values values) {
  for (double& value : values) value = nearest_bf16(value);
  return values;
}

struct RoundedProblem {
  std::int64_t m, n, k;
  bool trans_a = false, trans_b = false, accumulate = false;
  Values a = {}, b = {}, c = {};
  Values bias = {}, addend = {};  // empty: absent

  Values run(const Context& context, const Setup& setup) const {
    const Buffer a_in = setup.buffer(a), b_in = setup.buffer(b), c_out = setup.buffer(c);
    const Buffer bias_in = setup.buffer(bias), addend_in = setup.buffer(addend);
    gemm(context, {.a = a_in.view(trans_a ? Shape{k, m} : Shape{m, k}),
                   .b = b_in.view(trans_b ? Shape{n, k} : Shape{k, n}),
                   .c = c_out.view({m, n}),
                   .trans_a = trans_a,
                   .trans_b = trans_b,
                   .bias = optional_view(bias_in, {n}),
                   .addend = optional_view(addend_in, {m, n}),
                   .accumulate = accumulate});
    EXPECT_TRUE(expect_same_bits("a", a_in.values(), a)) << "an operand was written to";
    EXPECT_TRUE(expect_same_bits("b", b_in.values(), b)) << "an operand was written to";
    EXPECT_TRUE(expect_same_bits("bias", bias_in.values(), bias)) << "an operand was written to";
    return c_out.values();
  }
};

// The five bits of `options` switch transposes, accumulation, bias and addend.
RoundedProblem random_product(Random& random, std::int64_t m, std::int64_t n, std::int64_t k,
                              int options) {
  const auto chosen = [&](int bit) { return (options >> bit & 1) != 0; };
  return {.m = m,
          .n = n,
          .k = k,
          .trans_a = chosen(0),
          .trans_b = chosen(1),
          .accumulate = chosen(2),
          .a = random.normal(m * k),
          .b = random.normal(k * n),
          .c = random.normal(m * n),
          .bias = chosen(3) ? random.normal(n) : Values(),
          .addend = chosen(4) ? random.normal(m * n) : Values()};
}

RoundedProblem with_rounded_operands(RoundedProblem product) {
  product.a = rounded(product.a);
  product.b = rounded(product.b);
  product.bias = rounded(product.bias);
  return product;
}

// Small after large and large after small: the scratch is used again, and grows. The last ones are
// cut into tiles and into several pieces of 16384 elements.
constexpr std::array<std::array<std::int64_t, 3>, 9> kShapes{{{17, 33, 9},
                                                              {1, 1, 1},
                                                              {3, 7, 31},
                                                              {65, 17, 130},
                                                              {5, 257, 3},
                                                              {9, 31, 0},
                                                              {130, 65, 257},
                                                              {8, 16, 64},
                                                              {129, 257, 131}}};

Setup on(const KernelTable& table, int threads) { return {.table = &table, .threads = threads}; }

class RoundedProducts : public testing::TestWithParam<int> {
 protected:
  auto rounding() const { return on(rounded_cpu_table(), GetParam()); }
  auto plain() const { return on(cpu_table(), GetParam()); }

 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
};

TEST_P(RoundedProducts, GemmIsTheCpuGemmOfRoundedOperands) {
  Random random;
  const auto context = rounding().context();
  for (int options = 0; options < 32; ++options)
    for (const auto& [m, n, k] : kShapes) {
      const RoundedProblem product = random_product(random, m, n, k, options);
      const Values got = product.run(*context, rounding());
      const Values want = with_rounded_operands(product).run(*plain().context(), plain());
      ASSERT_TRUE(expect_same_bits("c", got, want))
          << fmt::format("({}, {}, {}), options {}", m, n, k, options);
    }
}

// What the rounding does, told by hand: c = a times 1.
TEST_P(RoundedProducts, RoundsToNearestEven) {
  const double last = std::ldexp(1.0, -7);  // of 1 in bf16
  const double small = std::ldexp(1.0, -149), largest = std::numeric_limits<float>::max();
  const double above_half = std::nextafterf(static_cast<float>(1 + last / 2), 2.0f);
  const Values a{1.0,   1 + last / 2, 1 + 1.5 * last, -(1 + 2.5 * last), above_half, small, largest,
                 -kInf, kNan};
  const Values want{1.0, 1.0, 1 + 2 * last, -(1 + 2 * last), 1 + last, 0.0, kInf, -kInf, kNan};
  const auto m = static_cast<std::int64_t>(a.size());
  const RoundedProblem product{.m = m, .n = 1, .k = 1, .a = a, .b = {1.0}, .c = rubbish(m)};
  EXPECT_TRUE(expect_same_bits("c", product.run(*rounding().context(), rounding()), want));
}

Values random_qkv(Random& random, const AttentionShape& shape) {
  return random.normal(shape.qkv().num_elements());
}

// Grouped heads, odd sizes, more tokens than one block of 64.
constexpr std::array<AttentionShape, 4> kAttentionShapes{
    {{2, 19, 4, 4, 8}, {1, 1, 1, 1, 3}, {2, 67, 6, 2, 5}, {1, 130, 2, 1, 16}}};

TEST_P(RoundedProducts, AttentionForwardIsThatOfRoundedOperands) {
  Random random;
  for (const AttentionShape& shape : kAttentionShapes) {
    AttentionForwardProblem problem{.shape = shape, .scale = 0.4, .qkv = random_qkv(random, shape)};
    const Outputs got = problem.run(rounding());
    const Outputs unrounded = problem.run(plain());
    problem.qkv = rounded(problem.qkv);
    EXPECT_TRUE(expect_same_bits(got, problem.run(plain()))) << "T " << shape.T;
    EXPECT_NE(got[0].values, unrounded[0].values);
  }
}

TEST_P(RoundedProducts, AttentionBackwardIsThatOfRoundedOperands) {
  Random random;
  for (const AttentionShape& shape : kAttentionShapes) {
    const AttentionForwardProblem forward{
        .shape = shape, .scale = 0.4, .qkv = random_qkv(random, shape)};
    const Outputs kept = forward.run(rounding());
    AttentionBackwardProblem problem{.shape = shape,
                                     .scale = 0.4,
                                     .qkv = forward.qkv,
                                     .out = kept[0].values,
                                     .lse = kept[1].values,
                                     .dout = random.normal(shape.out().num_elements())};
    const Outputs got = problem.run(rounding());
    problem.qkv = rounded(problem.qkv);
    problem.out = rounded(problem.out);
    problem.dout = rounded(problem.dout);  // lse is a statistic: f32
    EXPECT_TRUE(expect_same_bits(got, problem.run(plain()))) << "T " << shape.T;
  }
}

struct CachedProblem {
  std::int64_t N = 7, H = 4, K = 2, D = 6, capacity = 9;
  Values qkv;

  std::int64_t cache_size() const { return capacity * K * D; }
  Outputs run(const Setup& setup) const {
    const Buffer in = setup.buffer(qkv), out = setup.buffer(rubbish(N * H * D));
    const Buffer keys = setup.buffer(rubbish(cache_size()));
    const Buffer values = setup.buffer(rubbish(cache_size()));
    cached_attention(*setup.context(), {.qkv = in.view({N, H + 2 * K, D}),
                                        .keys = keys.view({capacity, K, D}),
                                        .values = values.view({capacity, K, D}),
                                        .out = out.view({N, H, D}),
                                        .scale = 0.4});
    return {{"out", out.values()}, {"keys", keys.values()}, {"values", values.values()}};
  }
};

// The cache takes up what was rounded.
TEST_P(RoundedProducts, CachedAttentionIsThatOfRoundedOperands) {
  Random random;
  CachedProblem problem;
  problem.qkv = random.normal(problem.N * (problem.H + 2 * problem.K) * problem.D);
  const Outputs got = problem.run(rounding());
  problem.qkv = rounded(problem.qkv);
  EXPECT_TRUE(expect_same_bits(got, problem.run(plain())));
}

INSTANTIATE_TEST_SUITE_P(Threads, RoundedProducts, testing::Values(1, 2, 3));

TEST(RoundedTable, IsTheCpuOtherwise) {
  EXPECT_STREQ(rounded_cpu_table().name, cpu_table().name);
  EXPECT_EQ(rounded_cpu_table().adamw, cpu_table().adamw);
  EXPECT_FALSE(rounded_cpu_table().stores_bf16);
  const Buffer four({1, 2, 3, 4}, DType::kF64);
  const View square = four.view({2, 2});
  expect_error(
      [&] { gemm(Context(rounded_cpu_table(), 1), {.a = square, .b = square, .c = square}); },
      "[gemm] the cpu backend runs f32");
}

}  // namespace
}  // namespace twill
