// SPDX-License-Identifier: Apache-2.0
// Products with packed 2:4 matrices in bf16 against the reference's gemm of what they unpack to.
#include <array>
#include <cmath>
#include <limits>

#include "ops/activation.h"
#include "ops/gemm.h"
#include "ops/packed24_problem.h"
#include "ops/packed_times.h"
#include "ops/times_packed.h"
#include "support/judge.h"

namespace twill {
namespace {

class Packed24Products : public Packed24Test {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Packed24Products);

struct Sums {
  Values values, sizes;  // Σ terms and Σ |terms|
};

// a (m, k) times b (k, n), or (n, k) with trans_b, in f64.
Sums reference_sums(Values a, Values b, const Shape& a_shape, const Shape& b_shape, bool trans_b) {
  const Setup f64 = oracle();
  const Shape shape{a_shape[0], trans_b ? b_shape[0] : b_shape[1]};
  const auto product = [&] {
    const Buffer a_in = f64.buffer(a), b_in = f64.buffer(b);
    const Buffer c = f64.buffer(rubbish(shape.num_elements()));
    gemm(
        *f64.context(),
        {.a = a_in.view(a_shape), .b = b_in.view(b_shape), .c = c.view(shape), .trans_b = trans_b});
    return c.values();
  };
  Sums sums{.values = product(), .sizes = {}};
  for (Values* operand : {&a, &b})
    for (double& value : *operand) value = std::abs(value);
  sums.sizes = product();
  return sums;
}

// Rows `picked` of a matrix, or every row; nothing of an absent one.
Values rows_of(const Values& matrix, std::int64_t cols, const std::vector<std::int64_t>& picked) {
  if (picked.empty() || matrix.empty()) return matrix;
  Values rows;
  for (const std::int64_t row : picked)
    rows.insert(rows.end(), matrix.begin() + row * cols, matrix.begin() + (row + 1) * cols);
  return rows;
}

// `bounds` are whole errors.
testing::AssertionResult expect_within(const char* what, const Values& got, const Values& want,
                                       const Values& bounds) {
  std::vector<Expected> expected;
  for (std::size_t i = 0; i < want.size(); ++i) expected.push_back({want[i], bounds[i]});
  return expect_close(what, got, expected, {.terms = 1.0, .eps_acc = 1.0, .eps_out = 0.0});
}

// An error and, on top of it, a rounding of the value to bf16; below the normal range to zero.
double with_rounding(double error, double value) {
  return error + kEpsBf16 * (std::abs(value) + error) + 0x1p-126;
}

struct Times24Problem {
  std::int64_t tokens;
  Values x;
  Values bias = {}, addend = {};  // empty: absent
  GemmEpilogue epilogue = GemmEpilogue::kNone;
  Activation activation = Activation::kGelu;
  Values before = {};

  struct Results {
    Values before, c;
    Values again = {};  // the activation of `before` as it is stored
  };

  Results run(const Setup& setup, const PackedMatrix& packed) const {
    const std::int64_t N = packed.shape.rows, K = packed.shape.cols;
    const Shape shape{tokens, N};
    const bool is_forward = epilogue == GemmEpilogue::kActivation;
    const Buffer x_in = setup.buffer(x), c = setup.buffer(rubbish(tokens * N));
    const Buffer bias_in = setup.buffer(bias), addend_in = setup.buffer(addend);
    const Buffer before_in = setup.buffer(is_forward ? rubbish(tokens * N) : before);
    times_packed(*setup.context(), {.x = x_in.view({tokens, K}),
                                    .packed = packed,
                                    .c = c.view(shape),
                                    .bias = optional_view(bias_in, {N}),
                                    .addend = optional_view(addend_in, shape),
                                    .epilogue = epilogue,
                                    .activation = activation,
                                    .before = optional_view(before_in, shape)});
    Results results{before_in.values(), c.values()};
    if (!is_forward) return results;
    const Buffer again = setup.buffer(rubbish(tokens * N));
    activation_forward(*setup.context(),
                       {.kind = activation, .x = before_in.view(shape), .y = again.view(shape)});
    results.again = again.values();
    return results;
  }
};

// Of an f or f' of the bf16 kernels: no error reaches 2^-21 of x, which bounds f, nor, of f', of
// the terms it is summed from, 2 (1 + |x|); four times that is granted.
double error_of_activation(double x) { return 0x1p-19 * 2.0 * (1.0 + std::abs(x)); }

// f(x), or f'(x), in f64.
Values reference_activation(Activation kind, const Values& x, bool slope) {
  const Setup f64 = oracle();
  const Shape shape{1, static_cast<std::int64_t>(x.size())};
  const Buffer x_in = f64.buffer(x), dy = f64.buffer(Values(x.size(), 1.0));
  const Buffer y = f64.buffer(rubbish(shape.num_elements()));
  if (slope)
    activation_backward(
        *f64.context(),
        {.kind = kind, .x = x_in.view(shape), .dy = dy.view(shape), .dx = y.view(shape)});
  else
    activation_forward(*f64.context(), {.kind = kind, .x = x_in.view(shape), .y = y.view(shape)});
  return y.values();
}

// Judges the rows of tokens `picked`, or all: (kept entries + 3) eps Σ|terms| and the roundings to
// bf16 that ops/gemm.h grants.
testing::AssertionResult check_times(const Setup& setup, const Storage24& packed,
                                     const Times24Problem& problem,
                                     const std::vector<std::int64_t>& picked = {}) {
  const std::int64_t N = packed.shape().rows, K = packed.shape().cols;
  const auto got = problem.run(setup, packed.matrix());
  const auto second = problem.run(setup, packed.matrix());
  if (auto result = expect_same_bits("c again", second.c, got.c); !result) return result;
  if (auto result = expect_same_bits("before again", second.before, got.before); !result)
    return result;

  const auto rows = [&](const Values& values) { return rows_of(values, N, picked); };
  const Values x = rows_of(problem.x, K, picked), addend = rows(problem.addend);
  const Values before = rows(got.before);
  const Shape x_shape{static_cast<std::int64_t>(x.size()) / K, K};
  Sums sums = reference_sums(x, packed.unpacked(DType::kF32), x_shape, {N, K}, true);
  Values& want = sums.values;
  Values errors(want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double bias = problem.bias.empty() ? 0.0 : problem.bias[i % index(N)];
    const double added = addend.empty() ? 0.0 : addend[i];
    want[i] += bias + added;
    const double size = sums.sizes[i] + std::abs(bias) + std::abs(added);
    errors[i] = static_cast<double>(K / 2 + 3) * kEpsF32 * size;
    if (!problem.bias.empty()) errors[i] = with_rounding(errors[i], want[i] - bias);
    errors[i] = with_rounding(errors[i], want[i]);
  }
  if (problem.epilogue == GemmEpilogue::kNone) return expect_within("c", rows(got.c), want, errors);
  const bool is_forward = problem.epilogue == GemmEpilogue::kActivation;
  const Values f = reference_activation(problem.activation, before, !is_forward);
  if (is_forward) {
    if (auto result = expect_within("before", before, want, errors); !result) return result;
    if (auto result = expect_same_bits("f of what is stored", got.c, got.again); !result)
      return result;
    for (std::size_t i = 0; i < f.size(); ++i)
      errors[i] = with_rounding(error_of_activation(before[i]) * std::abs(before[i]), f[i]);
    return expect_within("c", rows(got.c), f, errors);
  }
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double size = std::abs(want[i]) + errors[i];
    const double error = std::abs(f[i]) * errors[i] + error_of_activation(before[i]) * size;
    want[i] *= f[i];
    errors[i] = with_rounding(error, want[i]);
  }
  return expect_within("c", rows(got.c), want, errors);
}

// Bits of `options`: bias, addend; then no epilogue, or one of two with one of two activations.
constexpr int kNumOptions = 20;
Times24Problem random_times(Random& random, const PackedShape& shape, std::int64_t tokens,
                            int options) {
  const std::int64_t count = tokens * shape.rows;
  Times24Problem problem{.tokens = tokens, .x = random.normal(tokens * shape.cols)};
  if ((options & 1) != 0) problem.bias = random.normal(shape.rows);
  if ((options & 2) != 0) problem.addend = random.normal(count);
  constexpr GemmEpilogue kEpilogues[] = {
      GemmEpilogue::kNone, GemmEpilogue::kActivation, GemmEpilogue::kActivation,
      GemmEpilogue::kActivationGradient, GemmEpilogue::kActivationGradient};
  problem.epilogue = kEpilogues[options / 4];
  problem.activation = options / 4 % 2 == 1 ? Activation::kGeluTanh : Activation::kGelu;
  if (problem.epilogue == GemmEpilogue::kActivationGradient) problem.before = random.normal(count);
  return problem;
}

// Values whose products with x have sums around 1; the mask is 2:4 along rows.
void pack_random(Random& random, Storage24& storage, bool transpose) {
  const PackedShape& shape = storage.shape();
  const double spread = std::sqrt(2.0 / static_cast<double>(shape.cols));
  storage.pack(random.normal(shape.rows * shape.cols, spread),
               random_mask24(random, shape.rows, shape.cols), transpose, DType::kF32);
}

// Sizes from `unit` to `last` in steps of it, small ones as often as large ones.
std::int64_t random_size(Random& random, std::int64_t unit, std::int64_t last) {
  const double share = random.integers(1, 0, 1000)[0] / 1000.0;
  const double size = std::pow(static_cast<double>(last) / static_cast<double>(unit), share);
  return unit * std::max<std::int64_t>(std::llround(size), 1);
}

// 200 shapes, each option with ten of them; few enough terms for a naive reference.
TEST_P(Packed24Products, TimesPackedMatchesTheReferenceOnRandomShapes) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t n = random_size(random, 8, 1000), k = random_size(random, 16, 768);
    const std::int64_t most = std::clamp<std::int64_t>(800'000 / (n * k), 1, 700);
    const std::int64_t tokens = random_size(random, 1, most);
    Storage24 packed(GetParam(), shape24(n, k));
    pack_random(random, packed, i % 3 == 0);
    const auto problem = random_times(random, packed.shape(), tokens, i % kNumOptions);
    ASSERT_TRUE(check_times(GetParam(), packed, problem)) << fmt::format(
        "{} tokens, {} outputs, {} inputs, options {}", tokens, n, k, i % kNumOptions);
  }
}

TEST_P(Packed24Products, TimesPackedMatchesTheReferenceWithAllOptions) {
  Random random;
  Storage24 packed(GetParam(),
                   shape24(136, 80, PackedSide::kRight, PackedPattern::kTransposable24));
  const Values dense = random.normal(136 * 80, 0.2);
  packed.pack(dense, selected_mask(MaskKind::kTransposable, dense, {136, 80}), false, DType::kF32);
  for (const std::int64_t tokens : {1, 7, 64, 129})
    for (int options = 0; options < kNumOptions; ++options)
      EXPECT_TRUE(
          check_times(GetParam(), packed, random_times(random, packed.shape(), tokens, options)))
          << tokens << " tokens, options " << options;
}

// Large enough to be timed, 1e9 FLOPs: whoever wins, and whether f is inside the product or behind.
TEST_P(Packed24Products, TimesPackedMatchesTheReferenceOnALargerProduct) {
  Random random;
  Storage24 packed(GetParam(), shape24(1000, 800));
  pack_random(random, packed, false);
  std::vector<std::int64_t> picked;
  for (std::int64_t token = 0; token < 641; token += 16) picked.push_back(token);
  for (const int options : {0, 3, 5, 12})  // 5 and 12 have kGeluTanh
    EXPECT_TRUE(
        check_times(GetParam(), packed, random_times(random, packed.shape(), 641, options), picked))
        << "options " << options;
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
