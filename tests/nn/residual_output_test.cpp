// SPDX-License-Identifier: Apache-2.0
// Dropout, and the end of a branch that applies it.
#include "nn/residual_output.h"

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/tables.h"

namespace twill::residual_output_test {
namespace {

constexpr std::size_t kTokens = LayerBench::kBatch * LayerBench::kTime;

class DropoutLayer : public SeededTest {};

TEST_F(DropoutLayer, IsActiveOnlyInTrainingAndAboveZero) {
  LayerBench bench(4, 4);
  Pass pass = bench.pass();
  EXPECT_TRUE(Dropout(0.1, 0).active(pass));
  EXPECT_FALSE(Dropout(0.0, 0).active(pass));
  pass.training = false;
  EXPECT_FALSE(Dropout(0.1, 0).active(pass));
}

TEST_F(DropoutLayer, KeepsAndScalesAndAdds) {
  constexpr std::int64_t kElements = 4096;
  constexpr double kP = 0.25;
  LayerBench bench(4, 4);
  Tensor x(DType::kF64, {kElements}), y(DType::kF64, {kElements}), addend(DType::kF64, {kElements});
  assign(x.view(), Values(kElements, 3.0));
  assign(addend.view(), bench.random.normal(kElements));
  const Dropout dropout(kP, /*stream=*/1);
  dropout.apply(bench.pass(), x.view(), y.view());
  const Values kept = values_of(y.view());
  const auto zeros = static_cast<double>(std::ranges::count(kept, 0.0));
  EXPECT_EQ(static_cast<double>(std::ranges::count(kept, 3.0 / (1.0 - kP))), kElements - zeros);
  // A binomial count: six standard deviations.
  EXPECT_NEAR(zeros, kP * kElements, 6.0 * std::sqrt(kElements * kP * (1.0 - kP)));
  dropout.apply(bench.pass(), x.view(), y.view(), addend.view());
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(values_of(y.view())[i], values_of(addend.view())[i] + kept[i]);
}

TEST_F(DropoutLayer, DrawsAnewPerPlaceMicroStepAndSeedAndNeverElse) {
  constexpr std::int64_t kElements = 256;  // two draws agree everywhere with probability 2^-256
  LayerBench bench(4, 4);
  Tensor x(DType::kF64, {kElements}), y(DType::kF64, {kElements});
  assign(x.view(), Values(kElements, 1.0));
  const auto drawn_by = [&](std::uint64_t stream, std::uint64_t seed, std::uint32_t micro_step) {
    Pass pass = bench.pass();
    pass.seed = seed;
    pass.micro_step = micro_step;
    Dropout(0.5, stream).apply(pass, x.view(), y.view());
    return values_of(y.view());
  };
  const Values first = drawn_by(1, 7, 0);
  EXPECT_EQ(drawn_by(1, 7, 0), first);
  EXPECT_NE(drawn_by(2, 7, 0), first);
  EXPECT_NE(drawn_by(1, 8, 0), first);
  EXPECT_NE(drawn_by(1, 7, 1), first);
}

struct ResidualBench {
  explicit ResidualBench(double dropout, bool bias = true)
      : layer(bench.builder, "output",
              {.linear = {.in = 5, .out = 4, .bias = bias, .family = LayerFamily::kOther},
               .dropout = dropout,
               .dropout_stream = 2}) {
    bench.builder.commit();
    assign(residual.view(), bench.random.normal(kTokens * 4));
  }
  LayerBench bench{5, 4};
  ResidualOutput layer;
  Tensor residual{DType::kF64, {kTokens, 4}};
};

class ResidualOutputLayer : public SeededTest {};

TEST_F(ResidualOutputLayer, GradientsWithAndWithoutDropoutAndBias) {
  for (const double dropout : {0.0, 0.4})
    for (const bool bias : {true, false}) {
      ResidualBench of(dropout, bias);
      const Pass pass = of.bench.pass();
      of.bench.check(
          [&] {
            of.layer.forward(pass, of.bench.x.view(), of.residual.view(), of.bench.out.view());
          },
          [&] { of.bench.backward(of.layer, pass); });
      EXPECT_EQ(bool(of.layer.dout_sum(pass)), bias && dropout == 0.0);
    }
}

TEST_F(ResidualOutputLayer, AddsTheBranchToTheResidual) {
  for (const double dropout : {0.0, 0.4}) {
    ResidualBench of(dropout);
    const Pass pass = of.bench.pass();
    const View x = of.bench.x.view(), out = of.bench.out.view();
    assign(x, of.bench.random.normal(kTokens * 5));
    for (Parameter& parameter : of.bench.builder.parameters())
      assign(parameter.value, of.bench.random.normal(parameter.value.num_elements()));
    const Tensor nothing(DType::kF64, {kTokens, 4});
    of.layer.forward(pass, x, nothing.view(), out);
    const Values branch = values_of(out);
    EXPECT_EQ(std::ranges::count(branch, 0.0) > 0, dropout > 0.0);
    of.layer.forward(pass, x, of.residual.view(), out);
    std::vector<Expected> want;
    for (std::size_t i = 0; i < branch.size(); ++i) {
      const double residual = values_of(of.residual.view())[i];
      want.push_back({residual + branch[i], std::abs(residual) + std::abs(branch[i]) + 10.0});
    }
    EXPECT_TRUE(expect_close("out", values_of(out), want,
                             {.terms = 12, .eps_acc = kEpsF64, .eps_out = kEpsF64}));
  }
}

TEST_F(ResidualOutputLayer, AnotherInputMayStandForXInTheWeightsGradient) {
  ResidualBench of(0.0);
  const Pass pass = of.bench.pass();
  const View x = of.bench.x.view(), dout = of.bench.dout.view(), dx = of.bench.dx.view();
  Parameter& weight = of.bench.builder.parameters().front();
  for (const View view : {x, dout, weight.value})
    assign(view, of.bench.random.normal(view.num_elements()));
  of.layer.backward(pass, x, dout, dx);
  const Values gradient = values_of(weight.gradient), dx_before = values_of(dx);
  Tensor other(DType::kF64, {kTokens, 5});
  Values twice = values_of(x);
  for (double& value : twice) value *= 2.0;
  assign(other.view(), twice);
  of.layer.backward(pass, x, dout, dx, other.view());
  Values want = gradient;
  for (double& value : want) value *= 2.0;  // a factor of two rounds nothing
  EXPECT_TRUE(expect_same_bits("weight", values_of(weight.gradient), want));
  EXPECT_TRUE(expect_same_bits("dx", values_of(dx), dx_before));
}

}  // namespace
}  // namespace twill::residual_output_test
