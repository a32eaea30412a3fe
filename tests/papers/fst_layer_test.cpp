// SPDX-License-Identifier: Apache-2.0
// fst.md 7, check C1 and the layer's side of B6: the three products of a linear layer under a
// transposable mask. Integers: every product is exact.
#include <cmath>

#include <gtest/gtest.h>

#include "ops/selection/transposable24.h"
#include "papers/broken.h"
#include "papers/linear_kit.h"
#include "papers/soft_support.h"
#include "support/tables.h"

namespace twill {
namespace {

constexpr std::int64_t kTokens = 8, kIn = 16, kOut = 12;

struct Fst_C1 : public SeededTest {
  // Positive inputs and gradients: no entry of dW is zero by chance.
  Random random;
  Numbers x = small_integers(random, kTokens, kIn, 1, 9);
  Numbers dy = small_integers(random, kTokens, kOut, 1, 9);
  Numbers w = small_integers(random, kOut, kIn), bias = small_integers(random, 1, kOut);
  Numbers mask;

  void load(LinearKit& kit) {
    put(kit.parameter(0).value, w.x);
    put(kit.parameter(1).value, bias.x);
    Tensor bits(DType::kU8, w.shape());
    transposable24(kit.context, {.x = kit.parameter(0).value, .mask = bits.view()});
    mask = numbers_in(bits.view());
    kit.project_to(masked(w, mask));
  }
  Numbers with_bias(Numbers y) const {
    for (std::size_t i = 0; i < y.x.size(); ++i) y.x[i] += bias.x[i % bias.x.size()];
    return y;
  }
};

TEST_F(Fst_C1, ForwardAndDgradTakeTheSameMaskedWeight) {
  for (const KernelTable* table : paper_tables()) {
    LinearKit kit(*table, kTokens, kIn, kOut);
    load(kit);
    const LinearRun run = kit.run(x, dy);
    const Numbers masked_weight = masked(w, mask);
    EXPECT_NE(masked_weight, w);
    EXPECT_EQ(run.y, with_bias(product(x, transposed(masked_weight)))) << table->name;
    EXPECT_EQ(run.dx, product(dy, masked_weight)) << table->name;
  }
}

TEST_F(Fst_C1, WeightGradientIsDenseAndTheBiasIsNeverSampled) {
  for (const KernelTable* table : paper_tables()) {
    LinearKit kit(*table, kTokens, kIn, kOut);
    load(kit);
    const Numbers dense = product(transposed(dy), x);
    const LinearRun plain = kit.run(x, dy);
    EXPECT_EQ(plain.dw, dense) << table->name;  // nothing of the mask or of W·M is in it
    for (std::size_t i = 0; i < mask.x.size(); ++i) EXPECT_NE(plain.dw.x[i], 0.0);
    for (const WgradSample sample : {WgradSample::kMvue, WgradSample::kMvueTwoDraw}) {
      kit.seam().route.wgrad.sample = sample;
      const LinearRun sampled = kit.run(x, dy);
      EXPECT_EQ(sampled.db, column_sums(dy)) << table->name;
      EXPECT_NE(sampled.dw, dense) << table->name;
      EXPECT_EQ(sampled.dx, plain.dx) << table->name;  // dgrad takes the whole dY
    }
  }
}

// The sample is the one of (seed, micro-step, layer), so it comes back and it moves.
TEST_F(Fst_C1, SampleBelongsToTheMicroStepAndTheLayer) {
  for (const KernelTable* table : paper_tables()) {
    LinearKit kit(*table, kTokens, kIn, kOut);
    load(kit);
    kit.seam().route.wgrad.sample = WgradSample::kMvue;
    const LinearRun third = kit.run(x, dy, 3);
    EXPECT_EQ(kit.run(x, dy, 3).dw, third.dw);
    EXPECT_NE(kit.run(x, dy, 4).dw, third.dw);
    Floats dy_floats(dy.x.begin(), dy.x.end());
    const Sampled drawn =
        mvue_of(*table, dy_floats, dy.shape(), {.seed = 7, .step = 3, .stream = 0});
    const Numbers sample{kTokens, kOut, {drawn.y.begin(), drawn.y.end()}};
    EXPECT_EQ(third.dw, product(transposed(sample), x)) << table->name;
    kit.seam().stream = 5;
    EXPECT_NE(kit.run(x, dy, 3).dw, third.dw);
  }
}

TEST(Fst_B6, MeanOfTheLayersGradients) {
  constexpr std::uint32_t kDraws = 400;
  Random random;
  const Numbers x = small_integers(random, 16, 3), dy = small_integers(random, 16, 10);
  const Numbers dense = product(transposed(dy), x);
  LinearKit kit(fast_paper_table(), 16, 3, 10);
  kit.seam().route.wgrad.sample = WgradSample::kMvue;
  Values sum(dense.x.size()), squares(dense.x.size());
  for (std::uint32_t step = 0; step < kDraws; ++step) {
    const Numbers dw = kit.run(x, dy, step).dw;
    for (std::size_t i = 0; i < dw.x.size(); ++i) {
      sum[i] += dw.x[i];
      squares[i] += dw.x[i] * dw.x[i];
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double mean = sum[i] / kDraws, variance = squares[i] / kDraws - mean * mean;
    EXPECT_LE(std::abs(mean - dense.x[i]), 4.5 * std::sqrt(variance / kDraws)) << i;
    EXPECT_GT(variance, 0.0);
  }
}

}  // namespace
}  // namespace twill
