// SPDX-License-Identifier: Apache-2.0
#include "nn/feed_forward.h"

#include <cmath>

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/tables.h"

namespace twill::feed_forward_test {
namespace {

constexpr std::size_t kWidth = 4, kHidden = 6, kTokens = LayerBench::kBatch * LayerBench::kTime;

double relu2(double x) { return x > 0.0 ? x * x : 0.0; }
double silu(double x) { return x / (1.0 + std::exp(-x)); }

// out = residual + W2 f(W1 x + b1) + b2 by the definition; the scale bounds every number on the way.
std::vector<Expected> expected_ffn(LayerBench& bench, const Values& residual, bool gated) {
  const Values x = values_of(bench.x.view());
  std::vector<Values> p;
  for (const Parameter& parameter : bench.builder.parameters())
    p.push_back(values_of(parameter.value));
  const std::size_t wide = gated ? 2 * kHidden : kHidden;
  std::vector<Expected> out;
  for (std::size_t t = 0; t < kTokens; ++t) {
    Values before(wide), after(kHidden);
    for (std::size_t h = 0; h < wide; ++h) {
      before[h] = p[1][h];
      for (std::size_t i = 0; i < kWidth; ++i)
        before[h] += x[t * kWidth + i] * p[0][h * kWidth + i];
    }
    for (std::size_t h = 0; h < kHidden; ++h)
      after[h] = gated ? before[h] * silu(before[kHidden + h]) : relu2(before[h]);
    for (std::size_t o = 0; o < kWidth; ++o) {
      double sum = residual[t * kWidth + o] + p[3][o];
      for (std::size_t h = 0; h < kHidden; ++h) sum += after[h] * p[2][o * kHidden + h];
      out.push_back({sum, 1000.0});
    }
  }
  return out;
}

class FeedForwardLayer : public SeededTest {};

TEST_F(FeedForwardLayer, IsTheDefinition) {
  for (const bool gated : {false, true}) {
    LayerBench bench(kWidth, kWidth);
    const FeedForward layer(bench.builder, "ffn",
                            {.width = kWidth,
                             .hidden = kHidden,
                             .activation = gated ? Activation::kSwiglu : Activation::kRelu2});
    bench.builder.commit();
    ASSERT_EQ(bench.builder.parameters().size(), 4u);
    for (Parameter& parameter : bench.builder.parameters())
      assign(parameter.value, bench.random.normal(parameter.value.num_elements()));
    assign(bench.x.view(), bench.random.normal(kTokens * kWidth));
    const Values residual = bench.random.normal(kTokens * kWidth);
    assign(bench.dout.view(), residual);
    layer.forward(bench.pass(), bench.x.view(), bench.dout.view(), bench.out.view());
    EXPECT_TRUE(expect_close("out", values_of(bench.out.view()),
                             expected_ffn(bench, residual, gated),
                             {.terms = kWidth + kHidden, .eps_acc = kEpsF64, .eps_out = kEpsF64}));
  }
}

// Tokens do not meet in a feed-forward layer.
TEST_F(FeedForwardLayer, ATokenIsSeenByItselfAlone) {
  LayerBench bench(kWidth, kWidth);
  const FeedForward layer(bench.builder, "ffn", {.width = kWidth, .hidden = kHidden});
  bench.builder.commit();
  for (Parameter& parameter : bench.builder.parameters())
    assign(parameter.value, bench.random.normal(parameter.value.num_elements()));
  const Tensor residual(DType::kF64, {kTokens, kWidth});
  Values x = bench.random.normal(kTokens * kWidth);
  const auto forward = [&] {
    assign(bench.x.view(), x);
    layer.forward(bench.pass(), bench.x.view(), residual.view(), bench.out.view());
    return values_of(bench.out.view());
  };
  const Values before = forward();
  constexpr std::size_t kChanged = 2;
  for (std::size_t i = 0; i < kWidth; ++i) x[kChanged * kWidth + i] += 1.0;
  const Values after = forward();
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i] != after[i], i / kWidth == kChanged) << i;
}

}  // namespace
}  // namespace twill::feed_forward_test
