// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/attention_problem.h"
#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

constexpr double kRubbish = 1e30;  // in cache rows that nobody may read

struct CachedShape {
  std::int64_t N, past, spare, H, K, D;

  std::int64_t capacity() const { return past + N + spare; }
  Shape qkv() const { return {N, H + 2 * K, D}; }
  Shape cache() const { return {capacity(), K, D}; }
  Shape out() const { return {N, H, D}; }
};

struct CachedProblem {
  CachedShape shape;
  double scale;
  Values qkv, keys, values;  // the caches before the call

  Outputs run_all(const Setup& setup) const {
    const Buffer qkv_in = setup.buffer(qkv);
    const Buffer key_cache = setup.buffer(keys), value_cache = setup.buffer(values);
    const Buffer out = setup.buffer(rubbish(shape.out().num_elements()));
    cached_attention(*setup.context(), {.qkv = qkv_in.view(shape.qkv()),
                                        .keys = key_cache.view(shape.cache()),
                                        .values = value_cache.view(shape.cache()),
                                        .out = out.view(shape.out()),
                                        .past = shape.past,
                                        .scale = scale});
    return {{"out", out.values(), out.dtype()},
            {"keys", key_cache.values(), key_cache.dtype()},
            {"values", value_cache.values(), value_cache.dtype()}};
  }
  Outputs run(const Setup& setup) const { return {run_all(setup)[0]}; }

  // The caches as they must be afterwards.
  Values stored(const Values& before, std::int64_t first_head) const {
    Values after = before;
    const std::int64_t row = shape.K * shape.D, token = (shape.H + 2 * shape.K) * shape.D;
    for (std::int64_t n = 0; n < shape.N; ++n)
      std::copy_n(qkv.begin() + n * token + first_head * shape.D, row,
                  after.begin() + (shape.past + n) * row);
    return after;
  }
  Values keys_after() const { return stored(keys, shape.H); }
  Values values_after() const { return stored(values, shape.H + shape.K); }

  template <class N>
  Naive<N> naive() const {
    using std::exp;
    const Values all_keys = keys_after(), all_values = values_after();
    std::vector<N> out;
    for (std::int64_t n = 0; n < shape.N; ++n) {
      for (std::int64_t h = 0; h < shape.H; ++h) {
        const std::int64_t kv = h / (shape.H / shape.K), count = shape.past + n + 1;
        const double* q = qkv.data() + (n * (shape.H + 2 * shape.K) + h) * shape.D;
        std::vector<N> scores;
        for (std::int64_t j = 0; j < count; ++j)
          scores.push_back(
              N(scale) * naive_dot<N>(q, all_keys.data() + (j * shape.K + kv) * shape.D, shape.D));
        const N largest = *std::max_element(scores.begin(), scores.end());
        N sum{};
        for (const N& score : scores) sum += exp(score - largest);
        for (std::int64_t d = 0; d < shape.D; ++d) {
          N value{};
          for (std::int64_t j = 0; j < count; ++j)
            value +=
                exp(scores[j] - largest) / sum * N(all_values[(j * shape.K + kv) * shape.D + d]);
          out.push_back(value);
        }
      }
    }
    return {out};
  }
};

// One new token and several, an empty past, head dimensions around the vector widths, every kind of
// grouping, and lengths around the cpu's block of 512 tokens.
constexpr CachedShape kShapes[] = {
    {0, 3, 1, 2, 1, 8},    {1, 0, 0, 1, 1, 2},    {1, 0, 3, 2, 2, 16},  {1, 16, 1, 4, 2, 16},
    {1, 64, 0, 6, 2, 7},   {3, 5, 2, 4, 1, 64},   {5, 0, 1, 2, 2, 80},  {2, 129, 0, 3, 3, 33},
    {1, 511, 1, 2, 1, 16}, {1, 512, 0, 2, 1, 16}, {2, 1023, 5, 1, 1, 5}};

// exp, the quotient of the softmax and the product with v, and one more for each block of tokens
// after the first, whose arrival scales the sums: at most two here.
constexpr TwoOracleRule kRule{.floor = 5.0};

CachedProblem random_problem(Random& random, const CachedShape& shape, double spread = 1.0) {
  const std::int64_t used = shape.past * shape.K * shape.D;
  CachedProblem problem{shape, 1.0 / std::sqrt(static_cast<double>(shape.D)),
                        random.normal(shape.qkv().num_elements(), spread),
                        random.normal(used, spread), random.normal(used, spread)};
  problem.keys.resize(static_cast<std::size_t>(shape.cache().num_elements()), kRubbish);
  problem.values.resize(problem.keys.size(), kRubbish);
  return problem;
}

testing::AssertionResult check_one(const Setup& setup, const CachedProblem& problem) {
  const Outputs got = problem.run_all(setup);
  auto result = judge(setup, problem, kRule);
  // What tests hold in double reaches the cache as f32, so compare with that.
  const auto rounded = [&](const Values& values) { return setup.buffer(values).values(); };
  if (result) result = expect_same_bits("keys", got[1].values, rounded(problem.keys_after()));
  if (result) result = expect_same_bits("values", got[2].values, rounded(problem.values_after()));
  const CachedShape& s = problem.shape;
  return result ? result
                : result << fmt::format(" for N {}, past {}, H {}, K {}, D {}", s.N, s.past, s.H,
                                        s.K, s.D);
}

}  // namespace

testing::AssertionResult check_cached_attention(const Setup& setup) {
  Random random;
  for (const CachedShape& shape : kShapes)
    if (auto result = check_one(setup, random_problem(random, shape)); !result) return result;
  return testing::AssertionSuccess();
}

namespace {

class CachedAttention : public TableTest {};

TEST_P(CachedAttention, MatchesOracle) { EXPECT_TRUE(check_cached_attention(GetParam())); }

// Scores of some thousands: exp would overflow without a maximum taken off, block by block.
TEST_P(CachedAttention, DoesNotOverflow) {
  Random random;
  EXPECT_TRUE(check_one(GetParam(), random_problem(random, {2, 700, 1, 2, 1, 16}, 40.0)));
}

// A later block that dwarfs the first one, and one that is dwarfed by it.
TEST_P(CachedAttention, BlocksMayDwarfEachOther) {
  Random random;
  for (const double factor : {0.01, 30.0}) {
    CachedProblem problem = random_problem(random, {1, 600, 0, 1, 1, 8});
    for (std::size_t i = 8 * 520; i < 8 * 600; ++i) problem.keys[i] *= factor;
    EXPECT_TRUE(check_one(GetParam(), problem)) << factor;
  }
}

// All at once, or one after the other: not a bit of difference.
TEST_P(CachedAttention, OneByOneIsTheSame) {
  Random random;
  const CachedShape shape{4, 510, 0, 4, 2, 16};
  const CachedProblem together = random_problem(random, shape);
  const Outputs want = together.run_all(GetParam());
  CachedProblem one = together;
  Values out;
  const std::int64_t token = (shape.H + 2 * shape.K) * shape.D;
  for (std::int64_t n = 0; n < shape.N; ++n) {
    one.shape = {1, shape.past + n, shape.N - n - 1, shape.H, shape.K, shape.D};
    one.qkv.assign(together.qkv.begin() + n * token, together.qkv.begin() + (n + 1) * token);
    const Outputs got = one.run_all(GetParam());
    out.insert(out.end(), got[0].values.begin(), got[0].values.end());
    one.keys = got[1].values;
    one.values = got[2].values;
  }
  EXPECT_TRUE(expect_same_bits("out", out, want[0].values));
  EXPECT_TRUE(expect_same_bits("keys", one.keys, want[1].values));
}

// The past as one call left it, the future as the next continues: the plain op says the same.
TEST_P(CachedAttention, EqualsPlainAttention) {
  Random random;
  const AttentionShape plain{1, 37, 4, 2, 16};
  const AttentionForwardProblem whole{plain, 0.25, random.normal(plain.qkv().num_elements())};
  const std::int64_t token = (plain.H + 2 * plain.K) * plain.D, past = 30;
  CachedProblem problem = random_problem(random, {plain.T - past, past, 0, plain.H, plain.K, 16});
  problem.scale = whole.scale;
  problem.qkv.assign(whole.qkv.begin() + past * token, whole.qkv.end());
  for (std::int64_t t = 0; t < past; ++t) {
    const auto keys = whole.qkv.begin() + t * token + plain.H * plain.D;
    const std::int64_t row = plain.K * plain.D;
    std::copy_n(keys, row, problem.keys.begin() + t * row);
    std::copy_n(keys + row, row, problem.values.begin() + t * row);
  }
  const Values all = whole.run(oracle())[0].values;
  const Values last(all.begin() + past * plain.H * plain.D, all.end());
  EXPECT_TRUE(expect_same_bits("out", problem.run(oracle())[0].values, last));
  EXPECT_TRUE(check_one(GetParam(), problem));
}

TEST_P(CachedAttention, PassesNanOn) {
  Random random;
  CachedProblem problem = random_problem(random, {1, 20, 0, 2, 2, 4});
  problem.keys[0] = std::numeric_limits<double>::quiet_NaN();  // key head 0 only
  const Values out = problem.run(GetParam())[0].values;
  EXPECT_TRUE(std::ranges::all_of(out.begin(), out.begin() + 4, [](double v) { return v != v; }));
  EXPECT_TRUE(std::ranges::all_of(out.begin() + 4, out.end(), [](double v) { return v == v; }));
}

// Also where a later block's scores make the first block's weights vanish: 0 times NaN is NaN.
TEST_P(CachedAttention, PassesNanOfADwarfedValueOn) {
  CachedProblem problem{
      {1, 600, 0, 1, 1, 4}, 1.0, Values(12, 1.0), Values(2404, 0.0), Values(2404, 1.0)};
  std::fill(problem.keys.begin() + 4 * 550, problem.keys.end(), 100.0);  // scores of 400 against 0
  problem.values[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(problem.run(GetParam())[0].values[0]));
}

TEST_P(CachedAttention, OnlyStoresWithoutOut) {
  Random random;
  const CachedProblem problem = random_problem(random, {3, 2, 1, 2, 1, 4});
  const auto& setup = GetParam();
  const Buffer qkv = setup.buffer(problem.qkv);
  const Buffer keys = setup.buffer(problem.keys), values = setup.buffer(problem.values);
  cached_attention(*setup.context(), {.qkv = qkv.view(problem.shape.qkv()),
                                      .keys = keys.view(problem.shape.cache()),
                                      .values = values.view(problem.shape.cache()),
                                      .past = 2});
  EXPECT_EQ(keys.values(), setup.buffer(problem.keys_after()).values());
  EXPECT_EQ(values.values(), setup.buffer(problem.values_after()).values());
}

INSTANTIATE_TEST_SUITE_P(Tables, CachedAttention, testing::ValuesIn(setups_with_device()),
                         setup_name);

TEST(CachedAttentionReference, ByHand) {
  // Two cached tokens and a new one, D = 1, q = 0: the mean of the three values.
  const CachedProblem problem{{1, 2, 0, 1, 1, 1}, 1.0, {0, 5, 9}, {1, 2, 0}, {3, 6, 0}};
  const Outputs out = problem.run_all(oracle());
  EXPECT_EQ(out[0].values, (Values{6}));
  EXPECT_EQ(out[1].values, (Values{1, 2, 5}));
  EXPECT_EQ(out[2].values, (Values{3, 6, 9}));
}

TEST(CachedAttentionErrors, NameTheProblem) {
  const Buffer qkv(Values(32), DType::kF32), cache(Values(24), DType::kF32);
  const Buffer out(Values(16), DType::kF32);
  const CachedAttentionArgs good{.qkv = qkv.view({2, 4, 4}),
                                 .keys = cache.view({6, 1, 4}),
                                 .values = cache.view({6, 1, 4}),
                                 .out = out.view({2, 2, 4}),
                                 .past = 4};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.keys = {}; }, "[cached_attention] keys is missing");
  expect_refused(
      good, [](auto& args) { args.past = 5; },
      "[cached_attention] past must be 0 to 4, for 2 new tokens and a cache of 6, got 5");
  expect_refused(
      good, [](auto& args) { args.past = -1; }, "got -1");
  expect_refused(
      good,
      [&](auto& args) {
        args.qkv = qkv.view({8, 4});
      },
      "[cached_attention] qkv must have shape (N, H + 2 K, D) and keys (C, K, D), got (8, 4)");
  expect_refused(
      good,
      [&](auto& args) {
        args.values = cache.view({3, 2, 4});
      },
      "[cached_attention] values must have shape (6, 1, 4), got (3, 2, 4)");
  expect_refused(
      good,
      [&](auto& args) {
        args.keys = args.values = cache.view({3, 2, 4});
      },
      "[cached_attention] 0 query heads must be a multiple of the key/value heads, got 2");
  expect_refused(
      good,
      [&](auto& args) {
        args.out = out.view({2, 1, 8});
      },
      "[cached_attention] out must have shape (2, 2, 4), got (2, 1, 8)");
}

}  // namespace
}  // namespace twill
