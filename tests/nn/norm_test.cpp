// SPDX-License-Identifier: Apache-2.0
#include "nn/norm.h"

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/tables.h"

namespace twill::norm_test {
namespace {

constexpr std::size_t kWidth = 6, kTokens = LayerBench::kBatch * LayerBench::kTime;
constexpr double kEps = 1e-3;
// Sums over the width, a root, a division and the affine part, twice: here and there.
constexpr ErrorModel kBound{.terms = 4 * (kWidth + 4), .eps_acc = kEpsF64, .eps_out = kEpsF64};

struct NormBench {
  explicit NormBench(NormKind kind, bool bias = true)
      : layer(bench.builder, "norm", {.kind = kind, .width = kWidth, .bias = bias, .eps = kEps}) {
    bench.builder.commit();
    assign(bench.x.view(), bench.random.normal(kTokens * kWidth, 2.0, 0.5));
    assign(bench.dout.view(), bench.random.normal(kTokens * kWidth));
    for (Parameter& parameter : bench.builder.parameters())
      assign(parameter.value, bench.random.normal(kWidth, 0.5, 1.0));
  }
  Values value(std::size_t parameter) {
    return values_of(bench.builder.parameters()[parameter].value);
  }

  LayerBench bench{kWidth, kWidth};
  Norm layer;
};

std::vector<Expected> expected_norm(NormBench& of, NormKind kind) {
  const Values x = values_of(of.bench.x.view()), weight = of.value(0);
  const bool bias = of.bench.builder.parameters().size() > 1;
  std::vector<Expected> y;
  for (std::size_t t = 0; t < kTokens; ++t) {
    double mean = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < kWidth; ++i) mean += x[t * kWidth + i] / kWidth;
    if (kind == NormKind::kRms) mean = 0.0;
    for (std::size_t i = 0; i < kWidth; ++i)
      squares += (x[t * kWidth + i] - mean) * (x[t * kWidth + i] - mean) / kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double normed = (x[t * kWidth + i] - mean) / std::sqrt(squares + kEps);
      const double shift = bias ? of.value(1)[i] : 0.0;
      // The mean's terms are up to |x| large, in units of the spread.
      const double scale =
          (std::abs(x[t * kWidth + i]) + std::abs(mean)) / std::sqrt(squares + kEps) + 1.0;
      y.push_back({normed * weight[i] + shift, scale * std::abs(weight[i]) + std::abs(shift)});
    }
  }
  return y;
}

class NormLayer : public SeededTest {};

TEST_F(NormLayer, IsTheDefinition) {
  for (const NormKind kind : {NormKind::kLayer, NormKind::kRms})
    for (const bool bias : {true, false}) {
      NormBench of(kind, bias);
      const bool has_bias = bias && kind == NormKind::kLayer;
      EXPECT_EQ(of.bench.builder.parameters().size(), has_bias ? 2u : 1u);
      of.layer.forward(of.bench.pass(), of.bench.x.view(), of.bench.out.view());
      EXPECT_TRUE(
          expect_close("y", values_of(of.bench.out.view()), expected_norm(of, kind), kBound));
    }
}

// dx is added to the stream's gradient or overwrites it, and its sum is the gradient of a bias.
TEST_F(NormLayer, AddsToTheStreamsGradientAndSumsIt) {
  for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
    NormBench of(kind);
    const Pass pass = of.bench.pass();
    const View dx = of.bench.dx.view();
    of.layer.forward(pass, of.bench.x.view(), of.bench.out.view());
    assign(dx, of.bench.random.normal(kTokens * kWidth));
    of.layer.backward(pass, of.bench.x.view(), of.bench.dout.view(),
                      {.dx = dx, .adds_to_dx = false});
    const Values alone = values_of(dx), stream = of.bench.random.normal(kTokens * kWidth);
    assign(dx, stream);
    Tensor sum(DType::kF64, {kWidth});
    of.layer.backward(pass, of.bench.x.view(), of.bench.dout.view(),
                      {.dx = dx, .dx_sum = sum.view()});
    std::vector<Expected> both, sums(kWidth, {0.0, 0.0});
    for (std::size_t i = 0; i < alone.size(); ++i) {
      both.push_back({stream[i] + alone[i], std::abs(stream[i]) + std::abs(alone[i]) + 1.0});
      sums[i % kWidth].value += both[i].value;
      sums[i % kWidth].scale += both[i].scale;
    }
    EXPECT_TRUE(expect_close("dx", values_of(dx), both, kBound));
    EXPECT_TRUE(expect_close("sum", values_of(sum.view()), sums, kBound));
  }
}

TEST_F(NormLayer, TheFirstMicroBatchOverwritesAndOthersAdd) {
  for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
    NormBench of(kind);
    Pass pass = of.bench.pass();
    for (Parameter& parameter : of.bench.builder.parameters()) {
      EXPECT_FALSE(parameter.clear_gradient);
      assign(parameter.gradient, of.bench.random.normal(kWidth));
    }
    of.layer.forward(pass, of.bench.x.view(), of.bench.out.view());
    std::vector<Values> once;
    for (const bool accumulate : {false, true}) {
      pass.accumulate = accumulate;
      of.layer.backward(pass, of.bench.x.view(), of.bench.dout.view(), {.dx = of.bench.dx.view()});
      if (!accumulate)
        for (const Parameter& parameter : of.bench.builder.parameters())
          once.push_back(values_of(parameter.gradient));
    }
    for (std::size_t i = 0; i < once.size(); ++i) {
      std::vector<Expected> twice;
      for (const double value : once[i]) twice.push_back({2.0 * value, 20.0});
      EXPECT_TRUE(expect_close("gradient", values_of(of.bench.builder.parameters()[i].gradient),
                               twice,
                               {.terms = 2 * kTokens, .eps_acc = kEpsF64, .eps_out = kEpsF64}));
    }
  }
}

}  // namespace
}  // namespace twill::norm_test
