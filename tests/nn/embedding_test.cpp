// SPDX-License-Identifier: Apache-2.0
#include "nn/embedding.h"

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/tables.h"

namespace twill::embedding_test {
namespace {

constexpr std::int64_t kVocab = 5, kWidth = 3, kPositions = 4;
constexpr std::int64_t kBatch = LayerBench::kBatch, kTime = LayerBench::kTime;
constexpr std::size_t kIds[] = {2, 0, 2, 4, 2, 1};  // one three times, one never

struct EmbeddingBench {
  explicit EmbeddingBench(std::int64_t positions, double dropout = 0.0)
      : layer(bench.builder, "embedding",
              {.vocab = kVocab,
               .width = kWidth,
               .positions = positions,
               .dropout = dropout,
               .dropout_stream = 3}) {
    bench.builder.commit();
    for (std::size_t i = 0; i < std::size(kIds); ++i)
      tokens.view().as<std::int32_t>()[i] = static_cast<std::int32_t>(kIds[i]);
    for (Parameter& parameter : bench.builder.parameters()) {
      assign(parameter.value, bench.random.normal(parameter.value.num_elements()));
      assign(parameter.gradient, Values(values_of(parameter.gradient).size(), 0.0));
    }
    assign(bench.dout.view(), bench.random.normal(kBatch * kTime * kWidth));
  }
  Values forward(const Pass& pass) {
    layer.forward(pass, tokens.view(), bench.out.view());
    return values_of(bench.out.view());
  }
  void backward(const Pass& pass) {  // uses its gradient up
    assign(bench.dx.view(), values_of(bench.dout.view()));
    layer.backward(pass, tokens.view(), bench.dx.view());
  }
  Values value(std::size_t parameter) {
    return values_of(bench.builder.parameters()[parameter].value);
  }

  LayerBench bench{kWidth, kWidth};
  Embedding layer;
  Tensor tokens{DType::kI32, {kBatch, kTime}};
};

class EmbeddingLayer : public SeededTest {};

TEST_F(EmbeddingLayer, AddsTheRowsOfATokenAndItsPosition) {
  for (const std::int64_t positions : {std::int64_t{0}, kPositions}) {
    EmbeddingBench of(positions);
    Pass pass = of.bench.pass();
    for (const std::int64_t past : {0, 1}) {
      pass.past = past;
      const Values got = of.forward(pass), table = of.value(0);
      Values want;
      for (std::size_t i = 0; i < std::size(kIds); ++i)
        for (std::size_t c = 0; c < kWidth; ++c) {
          want.push_back(table[kIds[i] * kWidth + c]);
          const std::size_t position = i % kTime + static_cast<std::size_t>(past);
          if (positions > 0) want.back() += of.value(1)[position * kWidth + c];
        }
      EXPECT_TRUE(expect_same_bits("out", got, want));
    }
  }
}

TEST_F(EmbeddingLayer, GradientsOfBothTables) {
  for (const double dropout : {0.0, 0.4}) {
    EmbeddingBench of(kPositions, dropout);
    const Pass pass = of.bench.pass();
    of.backward(pass);
    for (Parameter& parameter : of.bench.builder.parameters()) {
      const auto loss = [&](const Values& values) {
        const Values kept = values_of(parameter.value);
        assign(parameter.value, values);
        const Expected sum = weighted_sum(of.forward(pass), values_of(of.bench.dout.view()));
        assign(parameter.value, kept);
        return sum;
      };
      EXPECT_TRUE(expect_gradient(parameter.name.c_str(), loss, values_of(parameter.value),
                                  values_of(parameter.gradient)));
    }
  }
}

// A tied head writes its gradient first, and earlier micro-batches are there already.
TEST_F(EmbeddingLayer, AddsToTheGradientThatIsThere) {
  EmbeddingBench of(0);
  Parameter& table = of.bench.builder.parameters().front();
  EXPECT_TRUE(table.clear_gradient);
  of.backward(of.bench.pass());
  const Values once = values_of(table.gradient);
  Values ones(once.size(), 1.0);
  assign(table.gradient, ones);
  of.backward(of.bench.pass());
  std::vector<Expected> want;
  for (const double value : once) want.push_back({1.0 + value, 10.0});
  EXPECT_TRUE(expect_close("gradient", values_of(table.gradient), want,
                           {.terms = 4, .eps_acc = kEpsF64, .eps_out = kEpsF64}));
}

TEST_F(EmbeddingLayer, DropsOnlyInTraining) {
  EmbeddingBench of(kPositions, /*dropout=*/0.5);
  Pass pass = of.bench.pass();
  const auto zeros = [&](const Values& values) { return std::ranges::count(values, 0.0); };
  EXPECT_GT(zeros(of.forward(pass)), 0);
  pass.training = false;
  EXPECT_EQ(zeros(of.forward(pass)), 0);
}

}  // namespace
}  // namespace twill::embedding_test
