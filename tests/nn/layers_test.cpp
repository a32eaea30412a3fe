// SPDX-License-Identifier: Apache-2.0
// Every layer's backward pass against finite differences.
#include <gtest/gtest.h>

#include "nn/block.h"
#include "nn/feed_forward.h"
#include "nn/layer_gradient.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/self_attention.h"
#include "support/tables.h"

namespace twill {
namespace {

class LayerGradient : public SeededTest {};

TEST_F(LayerGradient, Linear) {
  for (const bool bias : {true, false}) {
    LayerBench bench(5, 3);
    const Linear layer(bench.builder, "linear",
                       {.in = 5, .out = 3, .bias = bias, .family = LayerFamily::kOther});
    bench.builder.commit();
    const Pass pass = bench.pass();
    bench.check([&] { layer.forward(pass, bench.x.view(), bench.out.view()); },
                [&] {
                  layer.wgrad(pass, bench.x.view(), bench.dout.view());
                  layer.dgrad(pass, bench.dout.view(), bench.dx.view());
                });
  }
}

TEST_F(LayerGradient, Norm) {
  for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
    for (const bool bias : {true, false}) {
      LayerBench bench(6, 6);
      const Norm layer(bench.builder, "norm", {.kind = kind, .width = 6, .bias = bias});
      bench.builder.commit();
      const Pass pass = bench.pass();
      // The gradient is added to dx, which is zero here.
      bench.check([&] { layer.forward(pass, bench.x.view(), bench.out.view()); },
                  [&] {
                    layer.backward(pass, bench.x.view(), bench.dout.view(),
                                   {.dx = bench.dx.view()});
                  });
    }
  }
}

// The branch alone: a zero residual goes in, and its gradient stays outside.
template <class Layer>
void check_branch(LayerBench& bench, const Layer& layer) {
  bench.builder.commit();
  const Pass pass = bench.pass();
  const Tensor residual(DType::kF64, bench.out.view().shape());
  bench.check([&] { layer.forward(pass, bench.x.view(), residual.view(), bench.out.view()); },
              [&] { bench.backward(layer, pass); });
}

TEST_F(LayerGradient, SelfAttention) {
  for (const std::int64_t kv_heads : {4, 2, 1}) {
    for (const double theta : {0.0, 100.0}) {
      LayerBench bench(8, 8);
      const SelfAttention layer(bench.builder, "attention",
                                {.width = 8,
                                 .heads = 4,
                                 .kv_heads = kv_heads,
                                 .head_dim = 2,
                                 .bias = theta == 0.0,
                                 .rotary_theta = theta});
      check_branch(bench, layer);
    }
  }
}

TEST_F(LayerGradient, SelfAttentionWithDropout) {
  LayerBench bench(4, 4);
  const SelfAttention layer(
      bench.builder, "attention",
      {.width = 4, .heads = 2, .kv_heads = 2, .head_dim = 2, .dropout = 0.4, .dropout_stream = 3});
  check_branch(bench, layer);
}

TEST_F(LayerGradient, FeedForward) {
  for (const Activation activation : {Activation::kGelu, Activation::kGeluTanh, Activation::kSwiglu,
                                      Activation::kGeglu, Activation::kGegluTanh}) {
    for (const double dropout : {0.0, 0.3}) {
      LayerBench bench(4, 4);
      const FeedForward layer(
          bench.builder, "ffn",
          {.width = 4, .hidden = 6, .activation = activation, .dropout = dropout});
      check_branch(bench, layer);
    }
  }
}

TEST_F(LayerGradient, Block) {
  LayerBench bench(4, 4);
  const View x = bench.x.view();
  const Block block(bench.builder, "block",
                    {.norm = {.width = 4},
                     .attention = {.width = 4, .heads = 2, .kv_heads = 1, .head_dim = 2},
                     .ffn = {.width = 4, .hidden = 8}},
                    x);
  bench.builder.commit();
  const Pass pass = bench.pass();
  bench.check(
      [&] {
        block.forward(pass);
        assign(bench.out.view(), values_of(pass.rows(block.out())));
      },
      [&] {
        assign(bench.dx.view(), values_of(bench.dout.view()));
        bench.sum_dout(block.dout_sum(pass));
        block.backward(pass, bench.dx.view(), {});
      });
}

// A second pass with accumulate adds; the first overwrites whatever was there.
TEST_F(LayerGradient, AccumulatesOverMicroBatches) {
  LayerBench bench(5, 3);
  const Linear layer(bench.builder, "linear", {.in = 5, .out = 3, .family = LayerFamily::kOther});
  bench.builder.commit();
  assign(bench.x.view(), bench.random.normal(bench.x.view().num_elements()));
  assign(bench.dout.view(), bench.random.normal(bench.dout.view().num_elements()));
  Pass pass = bench.pass();
  Parameter& weight = bench.builder.parameters().front();
  assign(weight.gradient, bench.random.normal(weight.gradient.num_elements()));
  layer.wgrad(pass, bench.x.view(), bench.dout.view());
  const Values once = values_of(weight.gradient);
  pass.accumulate = true;
  layer.wgrad(pass, bench.x.view(), bench.dout.view());
  const Values twice = values_of(weight.gradient);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_DOUBLE_EQ(2.0 * once[i], twice[i]);
}

}  // namespace
}  // namespace twill
