// SPDX-License-Identifier: Apache-2.0
// Products with packed 2:4 matrices in bf16 against the reference's gemm of what they unpack to.
#include <array>
#include <cmath>
#include <limits>

#include "ops/products/packed_times.h"
#include "ops/products/times_packed24_problem.h"

namespace twill {
namespace {

class Packed24Products : public Packed24Test {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Packed24Products);

// Sizes from `unit` to `last` in steps of it, small ones as often as large ones.
std::int64_t random_size(Random& random, std::int64_t unit, std::int64_t last) {
  const double share = random.integers(1, 0, 1000)[0] / 1000.0;
  const double size = std::pow(static_cast<double>(last) / static_cast<double>(unit), share);
  return unit * std::max<std::int64_t>(std::llround(size), 1);
}

// 200 shapes, each option with five of them; few enough terms for a naive reference.
TEST_P(Packed24Products, TimesPackedMatchesTheReferenceOnRandomShapes) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t n = random_size(random, 8, 1000), k = random_size(random, 16, 768);
    const std::int64_t most = std::clamp<std::int64_t>(800'000 / (n * k), 1, 700);
    const std::int64_t tokens = random_size(random, 1, most);
    Storage24 packed(GetParam(), shape24(n, k));
    pack_random(random, packed, i % 3 == 0);
    const auto problem = random_times(random, packed.shape(), tokens, i % kNumOptions24);
    ASSERT_TRUE(check_times(GetParam(), packed, problem)) << fmt::format(
        "{} tokens, {} outputs, {} inputs, options {}", tokens, n, k, i % kNumOptions24);
  }
}

TEST_P(Packed24Products, TimesPackedMatchesTheReferenceWithAllOptions) {
  Random random;
  Storage24 packed(GetParam(),
                   shape24(136, 80, PackedSide::kRight, PackedPattern::kTransposable24));
  const Values dense = random.normal(136 * 80, 0.2);
  packed.pack(dense, selected_mask(MaskKind::kTransposable, dense, {136, 80}), false, DType::kF32);
  for (const std::int64_t tokens : {1, 7, 64, 129})
    for (int options = 0; options < kNumOptions24; ++options)
      EXPECT_TRUE(
          check_times(GetParam(), packed, random_times(random, packed.shape(), tokens, options)))
          << tokens << " tokens, options " << options;
}

// 17 K tiles, more than a tile of an overlapped product has chunks; too small to be timed, so that the first
// way runs. Options with kGeluTanh, with kRelu2, and without an activation.
TEST_P(Packed24Products, TimesPackedMatchesTheReferenceOnLongSums) {
  Random random;
  Storage24 packed(GetParam(), shape24(400, 1040));
  pack_random(random, packed, false);
  std::vector<std::int64_t> picked;
  for (std::int64_t token = 0; token < 600; token += 7) picked.push_back(token);
  for (const int options : {0, 1, 4, 5, 20, 21})
    EXPECT_TRUE(
        check_times(GetParam(), packed, random_times(random, packed.shape(), 600, options), picked))
        << "options " << options;
}

// Large enough to be timed, 1e9 FLOPs: whoever wins, and whether f is inside the product or behind.
TEST_P(Packed24Products, TimesPackedMatchesTheReferenceOnALargerProduct) {
  Random random;
  Storage24 packed(GetParam(), shape24(1000, 800));
  pack_random(random, packed, false);
  std::vector<std::int64_t> picked;
  for (std::int64_t token = 0; token < 641; token += 16) picked.push_back(token);
  for (const int options : {0, 3, 5, 12, 21, 24})  // two have kGeluTanh, two kRelu2
    EXPECT_TRUE(
        check_times(GetParam(), packed, random_times(random, packed.shape(), 641, options), picked))
        << "options " << options;
}

// Halves of whole atoms, which make a gated activation part of a product, and others; tiles that are
// cut off on every side. Small enough that nothing is timed: what can be inside is.
TEST_P(Packed24Products, TimesPackedMatchesTheReferenceWithGatedActivations) {
  Random random;
  for (const std::int64_t half : {4, 64, 72, 128, 192, 320})
    for (const std::int64_t k : {16, 80, 208}) {
      Storage24 packed(GetParam(), shape24(2 * half, k));
      pack_random(random, packed, half % 3 == 0);
      for (const std::int64_t tokens : {1, 300})
        for (const int options : {28, 29, 30, 32, 33, 36, 37})
          ASSERT_TRUE(check_times(GetParam(), packed,
                                  random_times(random, packed.shape(), tokens, options)))
              << fmt::format("{} tokens, 2 x {} outputs, {} inputs, options {}", tokens, half, k,
                             options);
    }
}

// 1.05e9 FLOPs for a half: timed, and compared with two steps.
TEST_P(Packed24Products, TimesPackedMatchesTheReferenceOnALargerGatedProduct) {
  Random random;
  Storage24 packed(GetParam(), shape24(2 * 1088, 752));
  pack_random(random, packed, false);
  std::vector<std::int64_t> picked;
  for (std::int64_t token = 0; token < 645; token += 28) picked.push_back(token);
  for (const int options : {28, 33, 36})
    EXPECT_TRUE(
        check_times(GetParam(), packed, random_times(random, packed.shape(), 645, options), picked))
        << "options " << options;
}

// Slopes of an activation as its own kernel has them.
Values slopes_of(const Setup& setup, Activation kind, const Values& z) {
  const Shape shape{1, static_cast<std::int64_t>(z.size())};
  const Buffer x = setup.buffer(z), ones = setup.buffer(Values(z.size(), 1.0));
  const Buffer dx = setup.buffer(rubbish(shape.num_elements()));
  activation_backward(
      *setup.context(),
      {.kind = kind, .x = x.view(shape), .dy = ones.view(shape), .dx = dx.view(shape)});
  return dx.values();
}

// c as without, f' of what would have been stored in place of that, and a product with such slopes; inside
// and, for other activations than kGeluTanh, behind.
testing::AssertionResult check_slopes(const Setup& setup, const Storage24& packed,
                                      std::int64_t tokens, Activation kind, bool has_bias,
                                      Random& random) {
  Times24Problem problem{.tokens = tokens,
                         .x = random.normal(tokens * packed.shape().cols),
                         .epilogue = GemmEpilogue::kActivation,
                         .activation = kind};
  if (has_bias) problem.bias = random.normal(packed.shape().rows);
  const auto plain = problem.run(setup, packed.matrix());
  problem.keeps_slope = true;
  const auto with_slope = problem.run(setup, packed.matrix());
  if (auto result = expect_same_bits("c", with_slope.c, plain.c); !result) return result;
  if (auto result =
          expect_same_bits("slopes", with_slope.before, slopes_of(setup, kind, plain.before));
      !result)
    return result;
  problem.bias.clear();
  problem.epilogue = GemmEpilogue::kActivationGradient;
  problem.before = with_slope.before;
  const Values got = problem.run(setup, packed.matrix()).c;
  problem.epilogue = GemmEpilogue::kNone;
  problem.keeps_slope = false;
  Values want = problem.run(setup, packed.matrix()).c;  // rounded, as the other may have been
  Values errors(want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    want[i] *= with_slope.before[i];
    errors[i] = with_rounding(kEpsBf16 * std::abs(want[i]), want[i]);
  }
  return expect_within("c of slopes", got, want, errors);
}

TEST_P(Packed24Products, TimesPackedKeepsSlopes) {
  Random random;
  for (const Activation kind : {Activation::kGeluTanh, Activation::kGelu, Activation::kRelu2})
    for (const auto& [n, k] : {std::pair(136, 80), std::pair(400, 1040), std::pair(8, 16)}) {
      Storage24 packed(GetParam(), shape24(n, k));
      pack_random(random, packed, false);
      for (const std::int64_t tokens : {1, 129, 300})
        ASSERT_TRUE(check_slopes(GetParam(), packed, tokens, kind, tokens != 129, random))
            << fmt::format("{} outputs, {} inputs, {} tokens", n, k, tokens);
    }
}

// Timed, so that every way may win: they all add along K in one order.
TEST_P(Packed24Products, TimesPackedKeepsSlopesOfALargerProduct) {
  Random random;
  Storage24 packed(GetParam(), shape24(1000, 800));
  pack_random(random, packed, false);
  EXPECT_TRUE(check_slopes(GetParam(), packed, 641, Activation::kGeluTanh, true, random));
}

// NaN and Inf pass through a gated activation inside a product as through one behind it.
TEST_P(Packed24Products, AGatedActivationTreatsNanAndInfAlike) {
  if (GetParam().offset != 0) GTEST_SKIP() << "multiplied dense";
  Random random;
  const std::int64_t N = 256, K = 80, T = 33;
  Storage24 packed(GetParam(), shape24(N, K));
  pack_random(random, packed, false);
  for (const int options : {28, 32, 36}) {
    Times24Problem problem = random_times(random, packed.shape(), T, options);
    constexpr double kSpecials[] = {std::numeric_limits<double>::quiet_NaN(),
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity()};
    for (std::int64_t t = 0; t < T; t += 2) problem.x[index(t * K + t * 7 % K)] = kSpecials[t % 3];
    const auto got = problem.run(GetParam(), packed.matrix());
    EXPECT_TRUE(expect_same_bits("f of what is stored", got.c, got.again)) << options;
  }
}

// A NaN is seen where it faces a kept entry, zeros included, and nowhere else.
TEST_P(Packed24Products, TimesPackedReadsOnlyWhatIsKept) {
  if (GetParam().offset != 0) GTEST_SKIP() << "multiplied dense";
  Random random;
  const std::int64_t N = 72, K = 80, T = 33;
  Storage24 packed(GetParam(), shape24(N, K));
  const Values mask = random_mask24(random, N, K), zeros = random.integers(N * K, 0, 3);
  Values dense = random.normal(N * K);
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (zeros[i] == 0.0) dense[i] = 0.0;
  packed.pack(dense, mask, false, DType::kF32);
  Times24Problem problem{.tokens = T, .x = random.normal(T * K)};
  for (std::int64_t t = 0; t < T; t += 2)
    problem.x[index(t * K + t * 7 % K)] = std::numeric_limits<double>::quiet_NaN();
  const Values c = problem.run(GetParam(), packed.matrix()).c;
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t n = 0; n < N; ++n)
      ASSERT_EQ(std::isnan(c[index(t * N + n)]),
                t % 2 == 0 && mask[index(n * K + t * 7 % K)] != 0.0)
          << t << ", " << n;
}

struct LeftProblem {
  std::int64_t n;
  Values b;       // (tokens, n)
  Values c = {};  // (channels, n); empty: not accumulating
  bool trans_b = false, trans_c = false;
  DType result = DType::kF32;

  Values run(const Setup& setup, const PackedMatrix& packed) const {
    const std::int64_t M = packed.shape.rows, K = packed.shape.cols;
    const Values held = c.empty() ? rubbish(M * n) : c;
    const Buffer b_in = setup.buffer(trans_b ? transposed(b, K, n) : b);
    const Buffer c_out = setup.buffer(trans_c ? transposed(held, M, n) : held, result);
    packed_times(*setup.context(), {.packed = packed,
                                    .b = b_in.view(trans_b ? Shape{n, K} : Shape{K, n}),
                                    .c = c_out.view(trans_c ? Shape{n, M} : Shape{M, n}),
                                    .trans_b = trans_b,
                                    .trans_c = trans_c,
                                    .accumulate = !c.empty()});
    return trans_c ? transposed(c_out.values(), n, M) : c_out.values();
  }
};

testing::AssertionResult check_left(const Setup& setup, const Storage24& packed,
                                    const LeftProblem& problem,
                                    const std::vector<std::int64_t>& picked = {}) {
  const std::int64_t K = packed.shape().cols;
  const Values got = problem.run(setup, packed.matrix());
  if (auto result = expect_same_bits("c again", problem.run(setup, packed.matrix()), got); !result)
    return result;
  const Values p = rows_of(packed.unpacked(DType::kF32), K, picked);
  const Values held = rows_of(problem.c, problem.n, picked);
  const Shape p_shape{static_cast<std::int64_t>(p.size()) / K, K};
  Sums sums = reference_sums(p, problem.b, p_shape, {K, problem.n}, false);
  Values errors(sums.values.size());
  const auto entries = static_cast<double>((K + 3) / 4 * 2);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double added = held.empty() ? 0.0 : held[i];
    sums.values[i] += added;
    errors[i] = (entries + 3.0) * kEpsF32 * (sums.sizes[i] + std::abs(added)) +
                kEpsF32 * std::abs(sums.values[i]);
    if (problem.result == DType::kBf16) errors[i] = with_rounding(errors[i], sums.values[i]);
  }
  return expect_within("c", rows_of(got, problem.n, picked), sums.values, errors);
}

// Eight ways to hand b and c over, f32 results, and bf16 ones as well.
TEST_P(Packed24Products, PackedTimesMatchesTheReferenceOnRandomShapes) {
  Random random;
  for (int i = 0; i < 96; ++i) {
    const std::int64_t m = random_size(random, 8, 600), n = random_size(random, 1, 400);
    const std::int64_t most = std::clamp<std::int64_t>(800'000 / (m * n), 1, 999);
    const std::int64_t tokens = random_size(random, 1, most);
    Storage24 packed(GetParam(), shape24(m, tokens, PackedSide::kLeft));
    pack_random(random, packed, i % 3 != 0);
    const std::int64_t width = i % 2 == 0 ? (n + 7) / 8 * 8 : n;  // whole pieces of 16 bytes
    LeftProblem problem{.n = width, .b = random.normal(tokens * width)};
    if (i / 2 % 2 == 1 || m * width < 64) problem.c = random.normal(m * width);
    problem.trans_b = i / 4 % 4 == 1 || i / 4 % 4 == 3;
    problem.trans_c = i / 4 % 4 >= 2;
    if (i % 12 == 11) problem.result = DType::kBf16;
    ASSERT_TRUE(check_left(GetParam(), packed, problem)) << fmt::format(
        "{} channels, {} tokens, {} columns, accumulate {}, trans_b {}, trans_c {}, {}", m, tokens,
        width, !problem.c.empty(), problem.trans_b, problem.trans_c, name_of(problem.result));
  }
}

// Every `stride`-th row of a product over random packed samples, written and added to.
testing::AssertionResult check_left_rows(const Setup& setup, std::int64_t channels,
                                         std::int64_t tokens, std::int64_t n, std::int64_t stride) {
  Random random;
  Storage24 packed(setup, shape24(channels, tokens, PackedSide::kLeft));
  pack_random(random, packed, true);
  std::vector<std::int64_t> picked;
  for (std::int64_t channel = 0; channel < channels; channel += stride) picked.push_back(channel);
  LeftProblem problem{.n = n, .b = random.normal(tokens * n)};
  if (auto result = check_left(setup, packed, problem, picked); !result) return result;
  problem.c = random.normal(channels * n);
  return check_left(setup, packed, problem, picked) << " accumulating";
}

TEST_P(Packed24Products, PackedTimesMatchesTheReferenceOnALargerProduct) {
  EXPECT_TRUE(check_left_rows(GetParam(), 520, 1003, 1024, 13));  // 1.07e9 FLOPs
}

// Few sums, each of many terms: who computes them may cut K into parts.
TEST_P(Packed24Products, PackedTimesMatchesTheReferenceOverManyTokens) {
  EXPECT_TRUE(check_left_rows(GetParam(), 136, 8203, 72, 5));
}

INSTANTIATE_TEST_SUITE_P(Tables, Packed24Products, testing::ValuesIn(setups_that_pack_bf16()),
                         setup_name);

}  // namespace
}  // namespace twill
