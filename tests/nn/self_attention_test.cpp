// SPDX-License-Identifier: Apache-2.0
// Who sees whom in self-attention; its numbers are the op's, its gradients those of layers_test.cpp.
#include "nn/self_attention.h"

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/tables.h"

namespace twill::self_attention_test {
namespace {

constexpr std::size_t kTime = LayerBench::kTime, kWidth = 8;
constexpr std::size_t kTokens = LayerBench::kBatch * kTime;

SelfAttention make_attention(Builder& builder, double rotary_theta) {
  return SelfAttention(
      builder, "attention",
      {.width = kWidth, .heads = 4, .kv_heads = 2, .head_dim = 2, .rotary_theta = rotary_theta});
}

struct AttentionBench {
  explicit AttentionBench(double rotary_theta = 0.0)
      : layer(make_attention(bench.builder, rotary_theta)) {
    bench.builder.commit();
    for (Parameter& parameter : bench.builder.parameters())
      assign(parameter.value, bench.random.normal(parameter.value.num_elements(), 0.5));
    x = bench.random.normal(kTokens * kWidth);
  }
  Values forward(const Values& of) {
    assign(bench.x.view(), of);
    layer.forward(bench.pass(), bench.x.view(), residual.view(), bench.out.view());
    return values_of(bench.out.view());
  }
  // Which tokens' outputs change when token `changed` does.
  std::vector<bool> seen_by(std::size_t changed) {
    const Values before = forward(x);
    Values other = x;
    for (std::size_t i = 0; i < kWidth; ++i) other[changed * kWidth + i] += 1.0;
    const Values after = forward(other);
    std::vector<bool> seen(kTokens, false);
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i] != after[i]) seen[i / kWidth] = true;
    return seen;
  }

  LayerBench bench{kWidth, kWidth};
  SelfAttention layer;
  Tensor residual{DType::kF64, {kTokens, kWidth}};
  Values x;
};

class SelfAttentionLayer : public SeededTest {};

TEST_F(SelfAttentionLayer, ATokenIsSeenByItselfAndLaterOnesOfItsSequence) {
  for (const double theta : {0.0, 100.0}) {
    AttentionBench of(theta);
    for (std::size_t changed = 0; changed < kTokens; ++changed) {
      std::vector<bool> want(kTokens, false);
      for (std::size_t token = changed; token / kTime == changed / kTime && token < kTokens;
           ++token)
        want[token] = true;
      EXPECT_EQ(of.seen_by(changed), want) << "token " << changed << ", theta " << theta;
    }
  }
}

// Two equal tokens in a row have equal keys and values: without positions nobody can tell.
TEST_F(SelfAttentionLayer, OnlyRotaryPositionsTellWhereATokenStands) {
  for (const double theta : {0.0, 100.0}) {
    AttentionBench of(theta);
    Values swapped = of.x;
    std::swap_ranges(swapped.begin(), swapped.begin() + kWidth, swapped.begin() + kWidth);
    const Values before = of.forward(of.x), after = of.forward(swapped);
    // The third token sees the first two in either order: sums of three terms.
    double furthest = 0.0;
    for (std::size_t i = 2 * kWidth; i < 3 * kWidth; ++i)
      furthest = std::max(furthest, std::abs(before[i] - after[i]));
    if (theta == 0.0)
      EXPECT_LT(furthest, 1e-13);  // about a hundred roundings of numbers below ten
    else
      EXPECT_GT(furthest, 1e-3);
  }
}

TEST_F(SelfAttentionLayer, AddsToTheResidual) {
  AttentionBench of;
  const Values branch = of.forward(of.x);
  const Values residual = of.bench.random.normal(kTokens * kWidth);
  assign(of.residual.view(), residual);
  std::vector<Expected> want;
  for (std::size_t i = 0; i < branch.size(); ++i)
    want.push_back({branch[i] + residual[i], std::abs(branch[i]) + std::abs(residual[i]) + 10.0});
  EXPECT_TRUE(expect_close("out", of.forward(of.x), want,
                           {.terms = 2 * kWidth, .eps_acc = kEpsF64, .eps_out = kEpsF64}));
}

}  // namespace
}  // namespace twill::self_attention_test
