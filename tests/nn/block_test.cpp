// SPDX-License-Identifier: Apache-2.0
#include "nn/block.h"

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/tables.h"

namespace twill::block_test {
namespace {

constexpr std::size_t kWidth = 4, kTokens = LayerBench::kBatch * LayerBench::kTime;

// Everything that one forward and backward pass of two blocks leaves behind.
struct BlockPass {
  explicit BlockPass(std::string_view recompute, bool zero_outputs = false) {
    const Context context(reference_table(), 1);
    Builder builder(context, {.dtype = DType::kF64,
                              .training = true,
                              .max_batch = LayerBench::kBatch,
                              .max_time = LayerBench::kTime,
                              .recompute = recompute_of(recompute)});
    Tensor input(DType::kF64, {kTokens, kWidth}), gradient(DType::kF64, {kTokens, kWidth}),
        sum(DType::kF64, {kWidth});
    const View slot = input.view();
    const Block::Options options{
        .norm = {.width = kWidth},
        .attention = {.width = kWidth, .heads = 2, .kv_heads = 1, .head_dim = 2},
        .ffn = {.width = kWidth, .hidden = 8}};
    // Of two, so that the second overwrites what the first does not keep.
    const Block first(builder, "first", options, slot);
    const Block second(builder, "second", options, first.out());
    builder.commit();
    Random random;
    x = random.normal(kTokens * kWidth);
    dout = random.normal(kTokens * kWidth);
    assign(slot, x);
    for (Parameter& parameter : builder.parameters()) {
      Values values = random.normal(parameter.value.num_elements(), 0.5, 0.2);
      if (zero_outputs && parameter.name.find(".output.") != std::string::npos)
        std::ranges::fill(values, 0.0);
      assign(parameter.value, values);
    }
    const Pass pass{.context = context,
                    .batch = LayerBench::kBatch,
                    .time = LayerBench::kTime,
                    .training = true,
                    .seed = 7};
    first.forward(pass);
    second.forward(pass);
    out = values_of(pass.rows(second.out()));
    assign(gradient.view(), dout);
    column_sum(context, {.x = gradient.view(), .sum = second.dout_sum(pass)});
    second.backward(pass, gradient.view(), first.dout_sum(pass));
    first.backward(pass, gradient.view(), sum.view());
    dx = values_of(gradient.view());
    dx_sum = values_of(sum.view());
    for (const Parameter& parameter : builder.parameters())
      for (const double value : values_of(parameter.gradient)) gradients.push_back(value);
  }

  Values x, dout, out, dx, dx_sum, gradients;
};

class BlockLayer : public SeededTest {};

TEST_F(BlockLayer, WhatIsComputedTwiceHasTheSameBits) {
  const BlockPass keeps("none");
  for (const std::string_view name : kRecomputeNames) {
    const BlockPass again(name);
    EXPECT_TRUE(expect_same_bits("out", again.out, keeps.out)) << name;
    EXPECT_TRUE(expect_same_bits("dx", again.dx, keeps.dx)) << name;
    EXPECT_TRUE(expect_same_bits("gradients", again.gradients, keeps.gradients)) << name;
  }
}

TEST_F(BlockLayer, SumsTheGradientOfItsInput) {
  const BlockPass of("none");
  std::vector<Expected> want(kWidth, {0.0, 0.0});
  for (std::size_t i = 0; i < of.dx.size(); ++i) {
    want[i % kWidth].value += of.dx[i];
    want[i % kWidth].scale += std::abs(of.dx[i]);
  }
  EXPECT_TRUE(expect_close("sum", of.dx_sum, want,
                           {.terms = 2 * kTokens, .eps_acc = kEpsF64, .eps_out = kEpsF64}));
}

// Both branches end in a matrix: where that is zero, the stream passes through untouched.
TEST_F(BlockLayer, TheStreamGoesRoundBothBranches) {
  const BlockPass of("none", /*zero_outputs=*/true);
  EXPECT_TRUE(expect_same_bits("out", of.out, of.x));
  EXPECT_TRUE(expect_same_bits("dx", of.dx, of.dout));
}

}  // namespace
}  // namespace twill::block_test
