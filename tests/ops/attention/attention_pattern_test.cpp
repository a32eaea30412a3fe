// SPDX-License-Identifier: Apache-2.0
// Attention where a pattern hides pairs.
#include "ops/attention/attention_pattern.h"

#include <cmath>
#include <limits>

#include "ops/attention/attention_problem.h"
#include "ops/checks.h"

namespace twill {
namespace {

using Forward = AttentionForwardProblem;
using Backward = AttentionBackwardProblem;
using enum AttentionPattern;

// Strides of one, small ones, around a group of 16 queries, around a block of 64 and around the
// sequence, and longer than anything.
constexpr PatternCase kCases[] = {
    {kLocal, 1},    {kLocal, 17},   {kLocal, 64},        {kLocal, 99},          {kLocal, 1LL << 62},
    {kStrided, 1},  {kStrided, 2},  {kStrided, 3},       {kStrided, 4},         {kStrided, 5},
    {kStrided, 32}, {kStrided, 65}, {kStrided, 100},     {kStrided, 1LL << 62}, {kUnion, 1},
    {kUnion, 2},    {kUnion, 3},    {kUnion, 4},         {kUnion, 16},          {kUnion, 33},
    {kUnion, 64},   {kUnion, 70},   {kUnion, 1LL << 62}, {kFixed, 1},           {kFixed, 2},
    {kFixed, 4},    {kFixed, 33},   {kFixed, 64},        {kFixed, 70},          {kFixed, 1LL << 62},
};
// Around blocks of 64; grouped heads.
constexpr AttentionShape kShapes[] = {{1, 1, 1, 1, 2},    {2, 17, 2, 1, 7},  {1, 65, 1, 1, 4},
                                      {1, 100, 1, 1, 16}, {1, 130, 4, 2, 5}, {2, 150, 3, 3, 3}};
// So long that more than one task has a part of the queries; no stride divides it.
constexpr AttentionShape kLong{1, 600, 2, 1, 3};
constexpr PatternCase kLongCases[] = {{kLocal, 40}, {kLocal, 517}, {kStrided, 7}, {kStrided, 2},
                                      {kUnion, 75}, {kUnion, 513}, {kFixed, 48},  {kFixed, 127}};

testing::AssertionResult check_pattern(const Setup& setup, Random& random,
                                       const AttentionShape& shape, const PatternCase& shown) {
  const Forward forward = with_pattern(random_forward(random, shape), shown);
  if (auto result = judge(setup, forward, kAttentionRule); !result)
    return result << describe(shape) << describe(shown);
  if (auto result = judge(setup, random_backward(random, forward), kAttentionRule); !result)
    return result << " backward" << describe(shape) << describe(shown);
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult check_attention_patterns(const Setup& setup) {
  Random random;
  for (const AttentionShape& shape : kShapes)
    for (const PatternCase& shown : kCases)
      if (auto result = check_pattern(setup, random, shape, shown); !result) return result;
  for (const PatternCase& shown : kLongCases)
    if (auto result = check_pattern(setup, random, kLong, shown); !result) return result;
  return testing::AssertionSuccess();
}

namespace {

class AttentionPatterns : public TableTest {};

TEST_P(AttentionPatterns, MatchOracle) { EXPECT_TRUE(check_attention_patterns(GetParam())); }

// A stride of the whole sequence shows a local pattern everything, and hides nothing: equal bits.
TEST_P(AttentionPatterns, WideLocalPatternIsCausal) {
  Random random;
  const Forward causal = random_forward(random, {1, 70, 2, 1, 16});
  const Forward local = with_pattern(causal, {kLocal, 70});
  EXPECT_TRUE(expect_same_bits(local.run(GetParam()), causal.run(GetParam())));
}

// A hidden key may hold anything finite: no bit of the output knows.
TEST_P(AttentionPatterns, HiddenKeysDoNotMatter) {
  Random random;
  const AttentionShape shape{1, 100, 1, 1, 16};
  for (const PatternCase& shown : {PatternCase{kLocal, 10},
                                   {kStrided, 3},
                                   {kStrided, 8},
                                   {kUnion, 6},
                                   {kFixed, 21},
                                   {kFixed, 8}}) {
    Forward forward = with_pattern(random_forward(random, shape), shown);
    const Outputs before = forward.run(GetParam());
    for (std::int64_t d = 0; d < 16; ++d) forward.qkv[shape.k_at(0, 20, 0) + d] = 100.0;
    for (std::int64_t d = 0; d < 16; ++d) forward.qkv[shape.v_at(0, 20, 0) + d] = 1e6;
    const Outputs after = forward.run(GetParam());
    for (std::int64_t i = 0; i < 100; ++i)
      for (std::int64_t d = 0; d < 16; ++d) {
        const std::int64_t at = shape.out_at(0, i, 0) + d;
        if (is_visible(shown.pattern, shown.stride, i, 20)) continue;
        EXPECT_EQ(after[0].values[at], before[0].values[at]) << i << describe(shown);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, AttentionPatterns, testing::ValuesIn(setups_with_device()),
                         setup_name);

class AttentionPairs : public TableTest {};

// All scores are 0, so every visible pair has the same probability; values and gradients of the
// output are unit vectors, D = T: out[i, j] and dv[j, i] are then p[i, j] itself.
testing::AssertionResult check_pairs(const Setup& setup, std::int64_t T, const PatternCase& shown) {
  const AttentionShape shape{1, T, 2, 1, T};
  Forward forward{shape, 1.0, Values(shape.qkv().num_elements()), shown.pattern, shown.stride};
  for (std::int64_t j = 0; j < T; ++j) forward.qkv[shape.v_at(0, j, 0) + j] = 1.0;
  const Outputs got = forward.run(setup);
  Backward backward{shape,         1.0,           forward.qkv,
                    got[0].values, got[1].values, Values(shape.out().num_elements()),
                    shown.pattern, shown.stride};
  for (std::int64_t i = 0; i < T; ++i) backward.dout[shape.out_at(0, i, 1) + i] = 1.0;
  const Outputs gradient = backward.run(setup);
  for (std::int64_t i = 0; i < T; ++i) {
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < T; ++j) count += is_visible(shown.pattern, shown.stride, i, j);
    for (std::int64_t j = 0; j < T; ++j) {
      const bool sees = is_visible(shown.pattern, shown.stride, i, j);
      const double p = sees ? 1.0 / static_cast<double>(count) : 0.0;
      // A quotient here; log and exp there, with an argument of log(T) at most.
      const double out = got[0].values[shape.out_at(0, i, 1) + j];
      const double dv = gradient[0].values[shape.v_at(0, j, 0) + i];
      if (std::abs(out - p) > 2.0 * kEpsF32 * p)
        return testing::AssertionFailure()
               << "out of " << i << ", " << j << ": " << out << describe(shape) << describe(shown);
      if (std::abs(dv - p) > 16.0 * kEpsF32 * p)
        return testing::AssertionFailure()
               << "dv of " << i << ", " << j << ": " << dv << describe(shape) << describe(shown);
    }
  }
  return testing::AssertionSuccess();
}

TEST_P(AttentionPairs, ThoseOfThePatternCountAndNoOthers) {
  for (const AttentionPattern pattern : {kLocal, kStrided, kUnion, kFixed}) {
    for (std::int64_t stride = 1; stride <= 71; ++stride)
      ASSERT_TRUE(check_pairs(GetParam(), 70, {pattern, stride}));
    for (const std::int64_t stride : {2, 3, 4, 5, 16, 31, 50, 63, 64, 65, 127, 128, 129, 130})
      ASSERT_TRUE(check_pairs(GetParam(), 130, {pattern, stride}));
  }
}

// A stride that shows everything is causal attention to the bit, backward too.
TEST_P(AttentionPairs, NothingHiddenIsCausal) {
  Random random;
  const Forward causal = random_forward(random, {2, 70, 4, 2, 16});
  const Backward gradient = random_backward(random, causal);
  const Outputs want = causal.run(GetParam()), dqkv = gradient.run(GetParam());
  for (const PatternCase& shown : {PatternCase{kLocal, 70},
                                   {kLocal, 1000},
                                   {kStrided, 1},
                                   {kUnion, 1},
                                   {kUnion, 70},
                                   {kUnion, 1LL << 62},
                                   {kFixed, 1},
                                   {kFixed, 70},
                                   {kFixed, 1LL << 62}}) {
    EXPECT_TRUE(expect_same_bits(with_pattern(causal, shown).run(GetParam()), want))
        << describe(shown);
    Backward same = gradient;
    same.pattern = shown.pattern;
    same.stride = shown.stride;
    EXPECT_TRUE(expect_same_bits(same.run(GetParam()), dqkv)) << describe(shown);
  }
}

// A key of NaN spoils the queries that see it, all of them and no others.
TEST_P(AttentionPairs, NanReachesThoseThatSee) {
  Random random;
  const AttentionShape shape{1, 140, 1, 1, 6};
  for (const PatternCase& shown : {PatternCase{kLocal, 10},
                                   {kStrided, 3},
                                   {kStrided, 8},
                                   {kUnion, 2},
                                   {kUnion, 33},
                                   {kFixed, 21},
                                   {kFixed, 7}}) {
    Forward forward = with_pattern(random_forward(random, shape), shown);
    forward.qkv[shape.k_at(0, 20, 0) + 2] = std::numeric_limits<double>::quiet_NaN();
    const Outputs got = forward.run(GetParam());
    for (std::int64_t i = 0; i < shape.T; ++i) {
      const bool sees = is_visible(shown.pattern, shown.stride, i, 20);
      EXPECT_EQ(std::isnan(got[0].values[shape.out_at(0, i, 0)]), sees) << i << describe(shown);
      EXPECT_EQ(std::isnan(got[1].values[shape.lse_at(0, 0, i)]), sees) << i << describe(shown);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, AttentionPairs, testing::ValuesIn(setups_under_test()),
                         setup_name);

}  // namespace
}  // namespace twill
