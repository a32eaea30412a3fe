// SPDX-License-Identifier: Apache-2.0
// A route says how each of a layer's three products runs, and the layer does that in this product alone.
// Small integers in f64: every order of a sum gives the same bits.
#include "nn/route.h"

#include <vector>

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "nn/linear.h"
#include "support/tables.h"

namespace twill::route_test {
namespace {

constexpr std::int64_t kTokens = LayerBench::kBatch * LayerBench::kTime, kIn = 5, kOut = 4;

TEST(Route, AsBuiltEverythingIsPlainAndDense) {
  const Route route;
  EXPECT_TRUE(route.takes_weight());
  EXPECT_FALSE(route.rounds());
  for (const Form& form : {route.forward, route.dgrad, route.wgrad}) {
    EXPECT_FALSE(form.runs_packed(1 << 20));
    EXPECT_FALSE(form.leaves_out_activations(1 << 20));
    EXPECT_EQ(form.sample, WgradSample::kDense);
    EXPECT_FALSE(form.kept);
  }
}

// As in decoding: dense operands are quicker then.
TEST(Route, LeavesZerosOutOfManyTokensAlone) {
  Tensor storage(DType::kU8, {64});
  Route route;
  route.forward.packed = without_zeros({.shape = {}, .storage = storage.view()});
  route.forward.activations = 0.5;
  for (const std::int64_t tokens : {kFewestPackedTokens - 1, kFewestPackedTokens}) {
    const bool many = tokens == kFewestPackedTokens;
    EXPECT_EQ(route.forward.runs_packed(tokens), many);
    EXPECT_EQ(route.forward.leaves_out_activations(tokens), many);
  }
  route.drop_packed();
  route.drop_activations();
  EXPECT_FALSE(route.forward.runs_packed(kFewestPackedTokens));
  EXPECT_FALSE(route.forward.leaves_out_activations(kFewestPackedTokens));
}

TEST(Route, RoundedOperandsKeepTheirZeros) {
  Route route;
  route.forward.activations = 0.5;
  route.set_rounding(Fp8Mode::kMixed);
  EXPECT_FALSE(route.forward.leaves_out_activations(kFewestPackedTokens));
  route.set_rounding(Fp8Mode::kNone);
  EXPECT_TRUE(route.forward.leaves_out_activations(kFewestPackedTokens));
}

TEST(Route, EveryModeRoundsToItsFormats) {
  constexpr Fp8Format kE4 = Fp8Format::kE4m3, kE5 = Fp8Format::kE5m2;
  const auto expect_formats = [](const Form& form, Fp8Format left, Fp8Format right) {
    ASSERT_TRUE(form.rounding.has_value());
    EXPECT_EQ(form.rounding->left, left);
    EXPECT_EQ(form.rounding->right, right);
  };
  Route route;
  route.set_rounding(Fp8Mode::kReference);
  expect_formats(route.forward, kE4, kE4);
  expect_formats(route.dgrad, kE5, kE5);
  expect_formats(route.wgrad, kE5, kE5);
  route.set_rounding(Fp8Mode::kMixed);
  expect_formats(route.forward, kE4, kE4);
  expect_formats(route.dgrad, kE5, kE4);
  expect_formats(route.wgrad, kE5, kE4);
  EXPECT_TRUE(route.rounds());
  route.set_rounding(Fp8Mode::kNone);
  EXPECT_FALSE(route.rounds());
}

struct Results {
  Values y, dx, dw;
};

// One linear layer, and what its three products give.
struct RoutedLayer {
  explicit RoutedLayer(bool rounds = false)
      : bench(kIn, kOut, {.rounds_operands = rounds}),
        layer(bench.builder, "linear",
              {.in = kIn, .out = kOut, .bias = false, .family = LayerFamily::kFfn}) {
    bench.builder.commit();
    fill(bench.x.view());
    fill(bench.dout.view());
    fill(weight().value);
  }

  Parameter& weight() { return bench.builder.parameters().front(); }
  Route& route() { return bench.builder.linear_seams().front().route; }
  void fill(View view) { assign(view, bench.random.integers(view.num_elements(), -3, 3)); }
  Tensor other_weight() {
    Tensor other(DType::kF64, {kOut, kIn});
    fill(other.view());
    return other;
  }

  Results run(bool as_trained = true) {
    Pass pass = bench.pass();
    pass.as_trained = as_trained;
    layer.forward(pass, bench.x.view(), bench.out.view());
    layer.dgrad(pass, bench.dout.view(), bench.dx.view());
    layer.wgrad(pass, bench.x.view(), bench.dout.view());
    return {values_of(bench.out.view()), values_of(bench.dx.view()), values_of(weight().gradient)};
  }
  // Of a plain layer with another weight.
  Results run_with(const Tensor& other) {
    const Values own = values_of(weight().value);
    assign(weight().value, values_of(other.view()));
    const Results results = run();
    assign(weight().value, own);
    return results;
  }

  LayerBench bench;
  Linear layer;
};

class RoutedLinear : public SeededTest {};

TEST_F(RoutedLinear, AnOperandStandsForTheWeightInItsProductAlone) {
  RoutedLayer of;
  const Results plain = of.run();
  const Tensor other = of.other_weight();
  const Results with_other = of.run_with(other);
  ASSERT_NE(with_other.y, plain.y);
  ASSERT_NE(with_other.dx, plain.dx);

  of.route().forward.operand = dense(other.view());
  EXPECT_FALSE(of.route().takes_weight());
  Results routed = of.run();
  EXPECT_EQ(routed.y, with_other.y);
  EXPECT_EQ(routed.dx, plain.dx);
  EXPECT_EQ(routed.dw, plain.dw);

  of.route() = {};
  of.route().dgrad.operand = dense(other.view());
  EXPECT_FALSE(of.route().takes_weight());
  routed = of.run();
  EXPECT_EQ(routed.y, plain.y);
  EXPECT_EQ(routed.dx, with_other.dx);
  EXPECT_EQ(routed.dw, plain.dw);
}

// An operand is a recipe's business in every pass; number formats are in passes as_trained.
TEST_F(RoutedLinear, OperandsHoldInEveryPass) {
  RoutedLayer of;
  const Tensor other = of.other_weight();
  const Values with_other = of.run_with(other).y;
  of.route().forward.operand = dense(other.view());
  EXPECT_EQ(of.run(/*as_trained=*/false).y, with_other);
}

TEST_F(RoutedLinear, TheGradientOfKeptEntriesIsTheirShareOfTheWhole) {
  RoutedLayer of;
  const Values whole = of.run().dw;
  Tensor mask(DType::kU8, {kOut, kIn}), row_begin(DType::kI32, {kOut + 1});
  std::vector<double> wanted;
  for (std::int64_t i = 0; i < kOut * kIn; ++i) {
    mask.view().as<std::uint8_t>()[i] = i % 3 == 1;
    if (i % 3 == 1) wanted.push_back(whole[static_cast<std::size_t>(i)]);
  }
  Tensor column(DType::kI32, {std::ssize(wanted)}), gradient(DType::kF64, {std::ssize(wanted)});
  find_kept(of.bench.context,
            {.mask = mask.view(), .row_begin = row_begin.view(), .column = column.view()});
  of.route().wgrad.kept = {.row_begin = row_begin.view(), .column = column.view()};
  of.route().wgrad.kept_gradient = gradient.view();
  assign(of.weight().gradient, Values(kOut * kIn, 55.0));
  EXPECT_EQ(of.run().dw, Values(kOut * kIn, 55.0)) << "nobody's";
  EXPECT_EQ(values_of(gradient.view()), wanted);
}

TEST_F(RoutedLinear, RoundsWhatEntersEachProductAndNothingOutsideTraining) {
  RoutedLayer of(/*rounds=*/true);
  // Of a scale that FP8 does not hold: integers of this size it would.
  for (const View view : {of.bench.x.view(), of.bench.dout.view(), of.weight().value})
    assign(view, of.bench.random.normal(view.num_elements()));
  const Results plain = of.run();
  const auto rounded = [&](ConstView x, Fp8Format format) {
    Tensor y(DType::kF64, x.shape());
    fp8_round(of.bench.context, {.x = x, .y = y.view(), .format = format});
    return y;
  };
  const Pass pass = of.bench.pass();
  of.route().set_rounding(Fp8Mode::kMixed);
  const Results routed = of.run();
  EXPECT_NE(routed.y, plain.y);
  EXPECT_EQ(of.run(/*as_trained=*/false).y, plain.y);

  // A plain layer on operands that were rounded before.
  of.route() = {};
  const Tensor x = rounded(of.bench.x.view(), Fp8Format::kE4m3),
               w = rounded(of.weight().value, Fp8Format::kE4m3),
               dy = rounded(of.bench.dout.view(), Fp8Format::kE5m2);
  of.route().forward.operand = of.route().dgrad.operand = dense(w.view());
  of.layer.forward(pass, x.view(), of.bench.out.view());
  of.layer.dgrad(pass, dy.view(), of.bench.dx.view());
  of.layer.wgrad(pass, x.view(), dy.view());
  EXPECT_EQ(routed.y, values_of(of.bench.out.view()));
  EXPECT_EQ(routed.dx, values_of(of.bench.dx.view()));
  EXPECT_EQ(routed.dw, values_of(of.weight().gradient));
}

}  // namespace
}  // namespace twill::route_test
