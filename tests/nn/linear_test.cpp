// SPDX-License-Identifier: Apache-2.0
#include "nn/linear.h"

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/tables.h"

namespace twill::linear_test {
namespace {

constexpr std::int64_t kTokens = LayerBench::kBatch * LayerBench::kTime;
constexpr std::size_t kIn = 5, kOut = 4;
constexpr ErrorModel kProduct{.terms = 2 * (kIn + 2), .eps_acc = kEpsF64, .eps_out = kEpsF64};

struct LinearBench {
  explicit LinearBench(bool bias, std::optional<Activation> activates = {})
      : layer(bench.builder, "linear",
              {.in = kIn,
               .out = kOut,
               .bias = bias,
               .family = LayerFamily::kOther,
               .activates = activates}) {
    bench.builder.commit();
    assign(bench.x.view(), bench.random.normal(kTokens * kIn));
    assign(bench.dout.view(), bench.random.normal(kTokens * kOut));
    for (Parameter& parameter : bench.builder.parameters())
      assign(parameter.value, bench.random.normal(parameter.value.num_elements()));
  }

  // x Wᵀ + b [+ addend] by the definition.
  std::vector<Expected> expected(const Values& addend = {}) {
    const Values x = values_of(bench.x.view()), w = value(0), b = has_bias() ? value(1) : Values();
    std::vector<Expected> y;
    for (std::size_t t = 0; t < kTokens; ++t)
      for (std::size_t o = 0; o < kOut; ++o) {
        Expected sum{0.0, 0.0};
        const auto add = [&](double term) {
          sum.value += term;
          sum.scale += std::abs(term);
        };
        for (std::size_t i = 0; i < kIn; ++i) add(x[t * kIn + i] * w[o * kIn + i]);
        if (has_bias()) add(b[o]);
        if (!addend.empty()) add(addend[t * kOut + o]);
        y.push_back(sum);
      }
    return y;
  }
  bool has_bias() { return bench.builder.parameters().size() > 1; }
  Values value(std::size_t parameter) {
    return values_of(bench.builder.parameters()[parameter].value);
  }

  LayerBench bench{kIn, kOut};
  Linear layer;
};

class LinearLayer : public SeededTest {};

TEST_F(LinearLayer, IsTheProductWithItsBiasAndAddend) {
  for (const bool bias : {true, false}) {
    LinearBench of(bias);
    EXPECT_EQ(of.has_bias(), bias);
    const Pass pass = of.bench.pass();
    of.layer.forward(pass, of.bench.x.view(), of.bench.out.view());
    EXPECT_TRUE(expect_close("y", values_of(of.bench.out.view()), of.expected(), kProduct));
    of.layer.forward(pass, of.bench.x.view(), of.bench.out.view(), of.bench.dout.view());
    EXPECT_TRUE(expect_close("y with addend", values_of(of.bench.out.view()),
                             of.expected(values_of(of.bench.dout.view())), kProduct));
  }
}

TEST_F(LinearLayer, AnActivationBehindItReadsTheSameProduct) {
  for (const Activation f : {Activation::kGelu, Activation::kRelu2, Activation::kSwiglu}) {
    LinearBench of(/*bias=*/true, f);
    const std::int64_t width = is_gated(f) ? kOut / 2 : kOut;
    Tensor before(DType::kF64, {kTokens, kOut}), after(DType::kF64, {kTokens, width}),
        want(DType::kF64, {kTokens, width});
    of.layer.forward_activated(of.bench.pass(), of.bench.x.view(), f, before.view(), after.view());
    EXPECT_TRUE(expect_close("before", values_of(before.view()), of.expected(), kProduct));
    activation_forward(of.bench.context, {.kind = f, .x = before.view(), .y = want.view()});
    EXPECT_TRUE(expect_same_bits("after", values_of(after.view()), values_of(want.view())));
  }
}

TEST_F(LinearLayer, TheGradientBeforeAnActivationInFront) {
  const Activation f = Activation::kGeluTanh;
  LinearBench of(/*bias=*/false);
  const Pass pass = of.bench.pass();
  Tensor before(DType::kF64, {kTokens, kIn}), dbefore(DType::kF64, {kTokens, kIn}),
      want(DType::kF64, {kTokens, kIn});
  assign(before.view(), of.bench.random.normal(kTokens * kIn));
  of.layer.dgrad(pass, of.bench.dout.view(), of.bench.dx.view());
  activation_backward(of.bench.context,
                      {.kind = f, .x = before.view(), .dy = of.bench.dx.view(), .dx = want.view()});
  of.layer.dgrad_activated(pass, of.bench.dout.view(), f, before.view(), dbefore.view());
  EXPECT_TRUE(expect_same_bits("dbefore", values_of(dbefore.view()), values_of(want.view())));
}

TEST_F(LinearLayer, WeightAndBiasMayHaveDifferentGradientsBehindThem) {
  LinearBench of(/*bias=*/true);
  const Pass pass = of.bench.pass();
  auto& parameters = of.bench.builder.parameters();
  of.layer.wgrad(pass, of.bench.x.view(), of.bench.dout.view());
  const Values weight = values_of(parameters[0].gradient), bias = values_of(parameters[1].gradient);
  for (Parameter& parameter : parameters)
    assign(parameter.gradient, Values(values_of(parameter.gradient).size(), 9.0));
  of.layer.weight_gradient(pass, of.bench.x.view(), of.bench.dout.view());
  EXPECT_TRUE(expect_same_bits("weight", values_of(parameters[0].gradient), weight));
  EXPECT_EQ(values_of(parameters[1].gradient), Values(kOut, 9.0)) << "not touched";
  of.layer.bias_gradient(pass, of.bench.dout.view());
  EXPECT_TRUE(expect_same_bits("bias", values_of(parameters[1].gradient), bias));
  EXPECT_EQ(of.layer.bias_gradient_view().bytes(), parameters[1].gradient.bytes());
  EXPECT_FALSE(LinearBench(false).layer.bias_gradient_view());
}

}  // namespace
}  // namespace twill::linear_test
