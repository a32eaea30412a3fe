// SPDX-License-Identifier: Apache-2.0
// Attention beyond packed causal self-attention: full and windowed, to another sequence, with
// lengths, from strided buffers.
#include <array>

#include "ops/attention/heads_problem.h"
#include "ops/checks.h"
#include "support/finite_difference.h"

namespace twill {
namespace {

using enum AttentionPattern;

// Around blocks of 64; grouped heads; more keys than queries and fewer; more than one task of 512.
// 64, 64 and 64 is what cuDNN takes too.
constexpr HeadsShape kHeadsShapes[] = {{3, 1, 4, 1, 1, 2},    {3, 5, 5, 4, 2, 3},
                                       {2, 70, 70, 2, 1, 16}, {2, 65, 130, 2, 2, 7},
                                       {2, 130, 65, 2, 1, 5}, {2, 64, 64, 2, 2, 64}};
constexpr HeadsShape kLongHeads{1, 600, 520, 1, 1, 2};
constexpr AttentionMask kHeadsMasks[] = {
    {kFull, 1},    {kCausal, 1},  {kWindow, 1}, {kWindow, 17}, {kWindow, 1LL << 62}, {kLocal, 9},
    {kStrided, 2}, {kStrided, 6}, {kUnion, 5},  {kFixed, 4},   {kFixed, 1LL << 62}};
constexpr AttentionMask kLongHeadsMasks[] = {{kFull, 1}, {kWindow, 100}};

// Lengths of all sequences: whole ones, empty ones, and some that must be cut to what there is.
Values lengths_for(std::int64_t all, std::int64_t batch, int which) {
  const Values some{static_cast<double>(all / 2 + 1),   static_cast<double>(all),
                    static_cast<double>(all - all / 4), 0.0,
                    static_cast<double>(all + 9),       -3.0};
  Values lengths;
  for (std::int64_t b = 0; b < batch; ++b)
    lengths.push_back(some[static_cast<std::size_t>(which + b) % some.size()]);
  return lengths;
}

// Every way to have lengths: none, the same twice, of the keys alone, of both and different.
std::vector<Seen> ways_to_see(const HeadsShape& shape, const AttentionMask& mask) {
  const Values keys = lengths_for(shape.S, shape.B, 0);
  return {{mask, {}, {}},
          {mask, keys, keys},
          {mask, lengths_for(shape.S, shape.B, 2), {}},
          {mask, lengths_for(shape.S, shape.B, 1), lengths_for(shape.T, shape.B, 3)}};
}

testing::AssertionResult check_heads(const Setup& setup, Random& random, const HeadsShape& shape,
                                     const Seen& seen, const Gaps& gaps) {
  const HeadsForward forward = random_heads(random, shape, seen, gaps);
  if (auto result = judge(setup, forward, kAttentionRule); !result)
    return result << describe(forward);
  const HeadsBackward backward = gradient_of(random, forward, exact_oracle());
  if (auto result = judge(setup, JoinedBackward{backward}, kAttentionRule); !result)
    return result << " backward" << describe(backward);
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult check_attention_heads(const Setup& setup) {
  constexpr std::array kGaps{Gaps{}, Gaps{3, 5, 1}, Gaps{8, 0, 16}};
  Random random;
  std::size_t turn = 0;
  // Of the ways to have lengths, and of the gaps, each mask takes another one with every shape.
  for (const HeadsShape& shape : kHeadsShapes)
    for (const AttentionMask& mask : kHeadsMasks) {
      const std::vector<Seen> ways = ways_to_see(shape, mask);
      const Seen& seen = ways[turn % ways.size()];
      const Gaps& gaps = kGaps[turn++ % kGaps.size()];
      if (auto result = check_heads(setup, random, shape, seen, gaps); !result) return result;
    }
  for (const AttentionMask& mask : kLongHeadsMasks) {
    const Seen seen{mask, {519.0}, {600.0}};
    if (auto result = check_heads(setup, random, kLongHeads, seen, {}); !result) return result;
  }
  return testing::AssertionSuccess();
}

namespace {

class AttentionHeads : public TableTest {};

TEST_P(AttentionHeads, MatchOracle) { EXPECT_TRUE(check_attention_heads(GetParam())); }

// Sequence b of a padded batch, and the same without its padding.
HeadsForward alone(const HeadsForward& batch, std::int64_t b) {
  const HeadsShape& all = batch.shape;
  HeadsForward one;
  one.scale = batch.scale;
  one.seen.mask = batch.seen.mask;
  one.shape = {1,
               Seen::length(batch.seen.queries, b, all.T),
               Seen::length(batch.seen.keys, b, all.S),
               all.H,
               all.K,
               all.D};
  const auto take = [](const Values& from, std::int64_t begin, std::int64_t count) {
    return Values(from.begin() + begin, from.begin() + begin + count);
  };
  one.q = take(batch.q, all.q_at(b, 0, 0), one.shape.q().num_elements());
  one.k = take(batch.k, all.kv_at(b, 0, 0), one.shape.kv().num_elements());
  one.v = take(batch.v, all.kv_at(b, 0, 0), one.shape.kv().num_elements());
  return one;
}

// The first `count` tokens of sequence b, of T tokens of `row` numbers each.
Values first_tokens(const Values& from, std::int64_t b, std::int64_t T, std::int64_t row,
                    std::int64_t count) {
  const auto begin = from.begin() + b * T * row;
  return Values(begin, begin + count * row);
}

// Padding, which is NaN here, changes no bit of what it pads.
TEST_P(AttentionHeads, PaddedSequencesAreThoseAlone) {
  Random random;
  const HeadsShape shape{3, 140, 150, 4, 2, 16};
  for (const AttentionMask& mask :
       {AttentionMask{kFull, 1}, {kCausal, 1}, {kWindow, 20}, {kUnion, 8}}) {
    const Seen seen{mask, {150, 77, 128}, {140, 70, 5}};
    const HeadsForward batch = random_heads(random, shape, seen);
    const HeadsBackward backward = gradient_of(random, batch, GetParam());
    const Outputs got = batch.run(GetParam()), gradient = backward.run(GetParam());
    for (std::int64_t b = 0; b < shape.B; ++b) {
      const HeadsForward one = alone(batch, b);
      const std::int64_t T = one.shape.T, S = one.shape.S, q_row = shape.H * shape.D,
                         kv_row = shape.K * shape.D;
      HeadsBackward one_backward = gradient_of(random, one, GetParam());
      one_backward.dout = first_tokens(backward.dout, b, shape.T, q_row, T);
      const Outputs want = one.run(GetParam()), want_gradient = one_backward.run(GetParam());
      EXPECT_TRUE(expect_same_bits("out", first_tokens(got[0].values, b, shape.T, q_row, T),
                                   want[0].values));
      EXPECT_TRUE(expect_same_bits("dq", first_tokens(gradient[0].values, b, shape.T, q_row, T),
                                   want_gradient[0].values));
      for (const std::size_t of_keys : {1u, 2u})
        EXPECT_TRUE(expect_same_bits("dk or dv",
                                     first_tokens(gradient[of_keys].values, b, shape.S, kv_row, S),
                                     want_gradient[of_keys].values))
            << describe(batch);
    }
  }
}

// What is not there is zero: not small, not -0, not NaN.
TEST_P(AttentionHeads, NothingIsZero) {
  Random random;
  const HeadsShape shape{2, 70, 66, 2, 1, 8};
  const Seen seen{{kLocal, 6}, {30, 0}, {60, 70}};
  const HeadsForward forward = random_heads(random, shape, seen);
  const Outputs got = forward.run(GetParam());
  const Outputs gradient = gradient_of(random, forward, GetParam()).run(GetParam());
  const auto expect_zero = [](const Values& values, std::int64_t at, std::int64_t count) {
    for (std::int64_t i = at; i < at + count; ++i)
      EXPECT_TRUE(values[i] == 0.0 && !std::signbit(values[i])) << i << ": " << values[i];
  };
  for (std::int64_t b = 0; b < shape.B; ++b) {
    for (std::int64_t i = 0; i < shape.T; ++i)
      for (std::int64_t h = 0; h < shape.H && seen.keys_of(shape, b, i).empty(); ++h) {
        expect_zero(got[0].values, shape.q_at(b, i, h), shape.D);
        expect_zero(got[1].values, shape.lse_at(b, h, i), 1);
        for (std::int64_t d = 0; d < shape.D; ++d)
          EXPECT_EQ(gradient[0].values[shape.q_at(b, i, h) + d], 0.0);
      }
    for (std::int64_t j = Seen::length(seen.keys, b, shape.S); j < shape.S; ++j)
      for (const std::size_t of_keys : {1u, 2u})
        expect_zero(gradient[of_keys].values, shape.kv_at(b, j, 0), shape.D);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, AttentionHeads, testing::ValuesIn(setups_with_device()),
                         setup_name);

class AttentionHeadsReference : public SeededTest {};

TEST_F(AttentionHeadsReference, GradientMatchesFiniteDifferences) {
  Random random;
  const HeadsShape shape{2, 4, 5, 4, 2, 2};
  for (const AttentionMask& mask : kHeadsMasks) {
    // Lengths of 2 leave some queries of narrow patterns without a key.
    const Seen seen{mask, {5, 2}, {3, 4}};
    const HeadsForward forward = random_heads(random, shape, seen);
    const HeadsBackward backward = gradient_of(random, forward, oracle());
    const auto loss = [&](const Values& at) {
      HeadsForward moved = forward;
      const auto k_at = at.begin() + static_cast<std::ptrdiff_t>(moved.q.size());
      const auto v_at = k_at + static_cast<std::ptrdiff_t>(moved.k.size());
      moved.q.assign(at.begin(), k_at);
      moved.k.assign(k_at, v_at);
      moved.v.assign(v_at, at.end());
      return weighted_sum(moved.run(oracle())[0].values, backward.dout);
    };
    EXPECT_TRUE(expect_gradient("q, k and v", loss, joined(forward.q, forward.k, forward.v),
                                JoinedBackward{backward}.run(oracle())[0].values))
        << describe(forward);
  }
}

TEST(AttentionMasks, SeesAnyIsTheSearch) {
  for (const AttentionPattern kind : {kCausal, kLocal, kStrided, kUnion, kFixed, kFull, kWindow})
    for (const std::int64_t stride : {1LL, 2LL, 3LL, 5LL, 12LL, 1LL << 62})
      for (std::int64_t keys = 0; keys < 9; ++keys)
        for (std::int64_t i = 0; i < 14; ++i) {
          bool any = false;
          for (std::int64_t j = 0; j < keys; ++j) any = any || is_visible(kind, stride, i, j);
          EXPECT_EQ(sees_any({kind, stride}, i, keys), any)
              << static_cast<int>(kind) << ' ' << stride << ' ' << i << ' ' << keys;
        }
}

TEST(AttentionMasks, CountTheirPairs) {
  EXPECT_EQ(num_visible({kFull, 1}, 3, 5), 15);
  EXPECT_EQ(num_visible({kCausal, 1}, 3, 5), 6);
  EXPECT_EQ(num_visible({kCausal, 1}, 5, 3), 12);
  EXPECT_EQ(num_visible({kWindow, 2}, 4, 4), 10);
  EXPECT_EQ(num_visible({kLocal, 2}, 5, 3), 6) << "the last query has no key";
}

TEST(HeadsViews, SplitsAPackedBuffer) {
  const Buffer data({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, DType::kF32);
  const auto [q, k, v] = split_qkv(data.view({1, 2, 4, 2}), 2);
  EXPECT_EQ(q.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(k.shape(), (Shape{1, 2, 1, 2}));
  EXPECT_EQ(v.row_stride(), 8);
  EXPECT_EQ(q.as<float>()[q.at(0, 1, 1)], 10.0f);
  EXPECT_EQ(k.as<float>()[k.at(0, 0, 0)], 4.0f);
  EXPECT_EQ(v.as<float>()[v.at(0, 1, 0)], 14.0f);
}

}  // namespace
}  // namespace twill
