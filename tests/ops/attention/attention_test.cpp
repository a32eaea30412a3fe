// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention.h"

#include <cmath>
#include <limits>

#include "ops/attention/attention_problem.h"
#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/finite_difference.h"

namespace twill {
namespace {

using Forward = AttentionForwardProblem;
using Backward = AttentionBackwardProblem;

// Lengths around the usual tiles, head dimensions around the vector widths, every kind of grouping.
constexpr AttentionShape kShapes[] = {
    {0, 5, 2, 2, 16}, {1, 0, 2, 1, 8},   {1, 1, 1, 1, 2},    {2, 1, 4, 2, 16},   {1, 2, 2, 2, 64},
    {3, 3, 3, 1, 6},  {1, 17, 2, 1, 80}, {2, 17, 6, 2, 16},  {1, 64, 2, 2, 2},   {1, 64, 4, 1, 64},
    {2, 65, 2, 1, 7}, {1, 65, 2, 2, 80}, {1, 130, 4, 2, 16}, {1, 130, 1, 1, 64},
};

// Queries and keys point the same way in a few places: their scores dwarf all others.
Forward dominant_forward(Random& random, const AttentionShape& shape) {
  Forward problem = random_forward(random, shape);
  for (std::size_t i = 0; i < problem.qkv.size(); i += 37) problem.qkv[i] *= 16.0;
  return problem;
}

}  // namespace

testing::AssertionResult check_attention_forward(const Setup& setup) {
  Random random;
  for (const AttentionShape& shape : kShapes)
    if (auto result = judge(setup, random_forward(random, shape), kAttentionRule); !result)
      return result << describe(shape);
  return testing::AssertionSuccess();
}

testing::AssertionResult check_attention_backward(const Setup& setup) {
  Random random;
  for (const AttentionShape& shape : kShapes) {
    const Backward problem = random_backward(random, random_forward(random, shape));
    if (auto result = judge(setup, problem, kAttentionRule); !result)
      return result << describe(shape);
  }
  return testing::AssertionSuccess();
}

namespace {

class Attention : public TableTest {};

TEST_P(Attention, ForwardMatchesOracle) { EXPECT_TRUE(check_attention_forward(GetParam())); }
TEST_P(Attention, BackwardMatchesOracle) { EXPECT_TRUE(check_attention_backward(GetParam())); }

TEST_P(Attention, SurvivesDominantScores) {
  Random random;
  const AttentionShape shape{1, 65, 4, 2, 16};
  const Forward forward = dominant_forward(random, shape);
  EXPECT_TRUE(judge(GetParam(), forward, kAttentionRule));
  EXPECT_TRUE(judge(GetParam(), random_backward(random, forward), kAttentionRule));
}

// Scores of some thousands: exp would overflow without the row's maximum taken off.
TEST_P(Attention, DoesNotOverflow) {
  Random random;
  const AttentionShape shape{1, 33, 2, 1, 16};
  EXPECT_TRUE(judge(GetParam(), random_forward(random, shape, 40.0), kAttentionRule));
}

TEST_P(Attention, LooksOnlyBack) {
  Random random;
  const AttentionShape shape{1, 65, 2, 1, 16};
  Forward problem = random_forward(random, shape);
  const Outputs before = problem.run(GetParam());
  const std::int64_t changed = 40;
  for (std::int64_t i = shape.q_at(0, changed, 0); i < shape.q_at(0, shape.T, 0); ++i)
    problem.qkv[i] = -problem.qkv[i] + 1.0;
  const Outputs after = problem.run(GetParam());
  const auto past = [&](const Outputs& outputs) {
    return Values(outputs[0].values.begin(),
                  outputs[0].values.begin() + shape.out_at(0, changed, 0));
  };
  EXPECT_TRUE(expect_same_bits("out", past(after), past(before)));
}

INSTANTIATE_TEST_SUITE_P(Tables, Attention, testing::ValuesIn(setups_with_device()), setup_name);

class AttentionReference : public SeededTest {};

TEST_F(AttentionReference, FirstTokenCopiesItsValue) {
  const Forward problem{{1, 1, 2, 1, 2}, 0.5, {1, 2, 3, 4, /*k*/ 5, 6, /*v*/ 7, 8}};
  const Outputs out = problem.run(oracle());
  EXPECT_EQ(out[0].values, (Values{7, 8, 7, 8}));
  EXPECT_EQ(out[1].values, (Values{8.5, 19.5}));  // 0.5 (5 + 12) and 0.5 (15 + 24)
}

TEST_F(AttentionReference, MixesTwoTokensByHand) {
  // q = (0) and (1), k = (0) and (ln 3), so the second row has scores 0, ln 3 and weights 1/4, 3/4.
  const Forward problem{{1, 2, 1, 1, 1}, 1.0, {0, 0, 10, 1, std::log(3.0), 20}};
  const Outputs out = problem.run(oracle());
  EXPECT_DOUBLE_EQ(out[0].values[0], 10.0);
  EXPECT_DOUBLE_EQ(out[0].values[1], 17.5);
  EXPECT_DOUBLE_EQ(out[1].values[1], std::log(4.0));
}

// Grouped queries are multi-head attention on repeated keys and values.
TEST_F(AttentionReference, GroupsAreRepeatedHeads) {
  Random random;
  const AttentionShape grouped{2, 5, 4, 2, 3}, full{2, 5, 4, 4, 3};
  const Forward few = random_forward(random, grouped);
  Forward many{full, few.scale, Values(full.qkv().num_elements())};
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t t = 0; t < 5; ++t)
      for (std::int64_t h = 0; h < 4; ++h)
        for (std::int64_t d = 0; d < 3; ++d) {
          many.qkv[full.q_at(b, t, h) + d] = few.qkv[grouped.q_at(b, t, h) + d];
          many.qkv[full.k_at(b, t, h) + d] = few.qkv[grouped.k_at(b, t, h) + d];
          many.qkv[full.v_at(b, t, h) + d] = few.qkv[grouped.v_at(b, t, h) + d];
        }
  EXPECT_TRUE(expect_same_bits(few.run(oracle()), many.run(oracle())));
}

testing::AssertionResult expect_true_gradient(Random& random, const Forward& forward) {
  const Outputs kept = forward.run(oracle());
  const Values dout = random.normal(forward.shape.out().num_elements());
  const auto loss = [&](const Values& at) {
    Forward moved = forward;
    moved.qkv = at;
    return weighted_sum(moved.run(oracle())[0].values, dout);
  };
  const Backward backward{forward.shape,  forward.scale, forward.qkv,     kept[0].values,
                          kept[1].values, dout,          forward.pattern, forward.stride};
  return expect_gradient("dqkv", loss, forward.qkv, backward.run(oracle())[0].values);
}

TEST_F(AttentionReference, GradientMatchesFiniteDifferences) {
  Random random;
  for (const AttentionShape& shape :
       {AttentionShape{2, 4, 2, 2, 3}, {1, 5, 4, 2, 2}, {1, 4, 3, 1, 2}}) {
    const Forward forward = random_forward(random, shape);
    EXPECT_TRUE(expect_true_gradient(random, forward)) << describe(shape);
  }
}

TEST_F(AttentionReference, GradientOfPatternsMatchesFiniteDifferences) {
  Random random;
  const AttentionShape shape{1, 7, 2, 1, 2};
  for (const PatternCase& shown : {PatternCase{AttentionPattern::kLocal, 3},
                                   {AttentionPattern::kStrided, 2},
                                   {AttentionPattern::kUnion, 3},
                                   {AttentionPattern::kFixed, 3}}) {
    const Forward forward = with_pattern(random_forward(random, shape), shown);
    EXPECT_TRUE(expect_true_gradient(random, forward)) << describe(shown);
  }
}

class AttentionErrors : public testing::Test {
 protected:
  // B 1, T 3, S 5, H 2, K 1, D 2.
  const Buffer q_data{Values(12), DType::kF32}, kv_data{Values(10), DType::kF32};
  const Buffer lse_data{Values(6), DType::kF32}, lengths_data{Values(1), DType::kI32};
  const View q = q_data.view({1, 3, 2, 2}), kv = kv_data.view({1, 5, 1, 2});
  const View lse = lse_data.view({1, 2, 3});
};

TEST_F(AttentionErrors, NameTheOperandOfForward) {
  const AttentionForwardArgs forward{.q = q, .k = kv, .v = kv, .out = q, .lse = lse};
  EXPECT_NO_THROW(validate(forward));
  expect_refused(
      forward, [](auto& args) { args.lse = {}; }, "[attention] lse is missing");
  expect_refused(
      forward, [](auto& args) { args.k = {}; }, "[attention] k is missing");
  expect_refused(
      forward,
      [&](auto& args) {
        args.q = q_data.view({6, 2});
      },
      "[attention] q must have shape (B, T, H, D) and k (B, S, K, D), got (6, 2) and (1, 5, 1, 2)");
  expect_refused(
      forward,
      [&](auto& args) {
        args.k = kv_data.view({1, 2, 1, 5});
      },
      "[attention] k must match q in B and D, got (1, 2, 1, 5) and (1, 3, 2, 2)");
  expect_refused(
      forward, [&](auto& args) { args.v = q; },
      "[attention] v must have the shape of k, (1, 5, 1, 2), got (1, 3, 2, 2)");
  expect_refused(
      forward,
      [&](auto& args) {
        args.k = args.v = q_data.view({1, 2, 3, 2});
      },
      "[attention] 2 query heads must be a multiple of the 3 key/value heads");
  expect_refused(
      forward,
      [&](auto& args) {
        args.out = q_data.view({3, 1, 2, 2});
      },
      "[attention] out must have shape (1, 3, 2, 2), got (3, 1, 2, 2)");
  expect_refused(
      forward,
      [&](auto& args) {
        args.lse = lse_data.view({1, 3, 2});
      },
      "[attention] lse must have shape (1, 2, 3), got (1, 3, 2)");
  expect_refused(
      forward, [](auto& args) { args.mask.stride = 0; },
      "[attention] stride must be 1 or more, got 0");
  expect_refused(
      forward, [&](auto& args) { args.q = ConstHeadsView(q.bytes(), DType::kF32, q.shape(), 3); },
      "[attention] rows of q must lie 4 elements apart or more, got 3");
  expect_refused(
      forward, [&](auto& args) { args.key_lengths = lse; },
      "[attention] key_lengths must be i32, got f32");
  expect_refused(
      forward,
      [&](auto& args) {
        args.query_lengths = lengths_data.view({1, 1});
      },
      "[attention] query_lengths must have shape (1), got (1, 1)");
}

TEST_F(AttentionErrors, NameTheOperandOfBackward) {
  const AttentionBackwardArgs backward{.q = q,
                                       .k = kv,
                                       .v = kv,
                                       .out = q,
                                       .lse = lse,
                                       .dout = q,
                                       .dq = q,
                                       .dk = kv,
                                       .dv = kv,
                                       .key_lengths = lengths_data.view({1})};
  EXPECT_NO_THROW(validate(backward));
  expect_refused(
      backward, [](auto& args) { args.dout = {}; }, "[attention] dout is missing");
  expect_refused(
      backward, [](auto& args) { args.dv = {}; }, "[attention] dv is missing");
  expect_refused(
      backward, [&](auto& args) { args.lse = lse_data.view({6}); },
      "[attention] lse must have shape (1, 2, 3), got (6)");
  expect_refused(
      backward, [&](auto& args) { args.dout = q_data.view({12}); },
      "[attention] dout must have shape (1, 3, 2, 2), got (12)");
  expect_refused(
      backward, [&](auto& args) { args.dk = q; },
      "[attention] dk must have shape (1, 5, 1, 2), got (1, 3, 2, 2)");
  expect_refused(
      backward, [&](auto& args) { args.dv = HeadsView(kv.bytes(), DType::kF32, kv.shape(), 1); },
      "[attention] rows of dv must lie 2 elements apart or more, got 1");
  expect_refused(
      backward, [](auto& args) { args.mask.stride = -3; },
      "[attention] stride must be 1 or more, got -3");
  expect_refused(
      backward,
      [&](auto& args) {
        args.key_lengths = lengths_data.view({1, 1});
      },
      "[attention] key_lengths must have shape (1), got (1, 1)");
}

TEST_F(AttentionErrors, NameTheMissingWorkspace) {
  KernelTable greedy = reference_table();
  greedy.attention_workspace_bytes = [](const AttentionForwardArgs&, const Device&) {
    return std::int64_t{100};
  };
  const Context context(greedy, 1);
  const Buffer small(Values(99), DType::kU8);
  const AttentionForwardArgs forward{
      .q = q, .k = kv, .v = kv, .out = q, .lse = lse, .workspace = small.view({99})};
  expect_error([&] { attention_forward(context, forward); },
               "[attention] workspace must have at least 100 bytes, got 99");
  const AttentionBackwardArgs backward{
      .q = q, .k = kv, .v = kv, .out = q, .lse = lse, .dout = q, .dq = q, .dk = kv, .dv = kv};
  expect_error([&] { attention_backward(context, backward); },
               "[attention] workspace must have at least 100 bytes, got 0");
}

}  // namespace
}  // namespace twill
