// SPDX-License-Identifier: Apache-2.0
// s-ste.md 7, the layer: literal vectors, straight-through gradients, and FP8 operands.
#include <cmath>

#include <gtest/gtest.h>

#include "papers/broken.h"
#include "papers/linear_kit.h"
#include "papers/soft_support.h"
#include "support/tables.h"

namespace twill {
namespace {

Floats floats_of(const Numbers& n) { return {n.x.begin(), n.x.end()}; }

TEST(Sste_L3, LiteralLayer) {
  const Numbers w{1, 4, {.1, -.5, .3, .9}}, x{1, 4, {1, 2, 3, 4}}, dy{1, 1, {1}};
  const double want[] = {0, -.32, 0, .96};
  for (const KernelTable* table : paper_tables()) {
    LinearKit kit(*table, 1, 4, 1, /*bias=*/false);
    put(kit.parameter(0).value, w.x);
    const Floats ws = soft_of(*table, floats_of(w), {1, 4}, 1.6);
    kit.project_to({1, 4, {ws.begin(), ws.end()}});
    const LinearRun run = kit.run(x, dy);
    EXPECT_NEAR(run.y.x[0], 3.2, 1e-6);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(ws[i], want[i], 1e-7);
      EXPECT_NEAR(run.dx.x[i], want[i], 1e-7);
    }
    EXPECT_EQ(run.dw.x, (Values{1, 2, 3, 4}));
  }
}

constexpr std::int64_t kTokens = 8, kIn = 12, kOut = 8;

// Integers and beta = 1.5: all products are exact.
struct SoftLayer {
  Random random;
  Numbers x = small_integers(random, kTokens, kIn, 1, 9);
  Numbers dy = small_integers(random, kTokens, kOut, 1, 9);
  Numbers w = small_integers(random, kOut, kIn), ws;

  void load(LinearKit& kit, const KernelTable& table) {
    put(kit.parameter(0).value, w.x);
    const Floats soft = soft_of(table, floats_of(w), w.shape(), 1.5);
    ws = {kOut, kIn, {soft.begin(), soft.end()}};
    kit.project_to(ws);
  }
};

class Sste_S4 : public SeededTest {};
class Sste_S5 : public SeededTest {};
class Sste_Fp8 : public SeededTest {};

TEST_F(Sste_S4, GradientOfTheWeightIsTheGradientOfItsProjection) {
  for (const KernelTable* table : paper_tables()) {
    SoftLayer soft;
    LinearKit kit(*table, kTokens, kIn, kOut);
    soft.load(kit, *table);
    const LinearRun run = kit.run(soft.x, soft.dy);
    // d loss / d Ws for y = x Wsᵀ: no factor beta, no mask.
    EXPECT_EQ(run.dw, product(transposed(soft.dy), soft.x)) << table->name;
    int dropped = 0;
    for (std::size_t i = 0; i < run.dw.x.size(); ++i) {
      EXPECT_NE(run.dw.x[i], 0.0);
      dropped += soft.ws.x[i] == 0.0;
    }
    EXPECT_GE(dropped, kIn * kOut / 2);
  }
}

TEST_F(Sste_S5, ForwardAndDgradTakeTheSameProjection) {
  for (const KernelTable* table : paper_tables()) {
    SoftLayer soft;
    LinearKit kit(*table, kTokens, kIn, kOut);
    soft.load(kit, *table);
    const LinearRun run = kit.run(soft.x, soft.dy);
    EXPECT_EQ(run.y, product(soft.x, transposed(soft.ws))) << table->name;
    EXPECT_EQ(run.dx, product(soft.dy, soft.ws)) << table->name;
    EXPECT_NE(run.dx, product(soft.dy, soft.w));
  }
}

TEST(Sste_S7, BiasIsNotSampled) {
  for (const KernelTable* table : paper_tables()) {
    SoftLayer soft;
    LinearKit kit(*table, kTokens, kIn, kOut);
    soft.load(kit, *table);
    kit.seam().route.wgrad.sample = WgradSample::kMvue;
    EXPECT_EQ(kit.run(soft.x, soft.dy).db, column_sums(soft.dy)) << table->name;
  }
}

// Eighths up to 7: the scales 448 / 7 and 57344 / 7 are powers of two, so rounded operands are exact
// and so are their products.
Numbers eighths(Random& random, std::int64_t rows, std::int64_t cols) {
  Numbers n = small_integers(random, rows, cols, -56, 56);
  n.x[0] = 56;
  for (double& x : n.x) x /= 8;
  return n;
}

// Round to nearest even with `bits` of mantissa behind the first; 7 is far from overflow, an eighth
// far from underflow.
Numbers rounded(Numbers n, int bits) {
  for (double& x : n.x) {
    const double unit = x == 0.0 ? 1.0 : std::exp2(std::floor(std::log2(std::abs(x))) - bits);
    x = std::nearbyint(x / unit) * unit;
  }
  return n;
}
Numbers e4m3(const Numbers& n) { return rounded(n, 3); }
Numbers e5m2(const Numbers& n) { return rounded(n, 2); }

TEST_F(Sste_Fp8, ProductsTakeRoundedOperands) {
  Random random;
  const Numbers x = eighths(random, kTokens, kIn), dy = eighths(random, kTokens, kOut);
  const Numbers w = eighths(random, kOut, kIn);
  EXPECT_NE(e4m3(x), e5m2(x));
  EXPECT_NE(e4m3(x), x);
  for (const KernelTable* table : paper_tables())
    for (const Fp8Mode mode : {Fp8Mode::kReference, Fp8Mode::kMixed}) {
      LinearKit kit(*table, kTokens, kIn, kOut);
      kit.project_to(w);
      kit.seam().route.set_rounding(mode);
      const auto kept = mode == Fp8Mode::kReference ? e5m2 : e4m3;  // X and W in backward products
      const LinearRun run = kit.run(x, dy);
      EXPECT_EQ(run.y, product(e4m3(x), transposed(e4m3(w)))) << table->name;
      EXPECT_EQ(run.dx, product(e5m2(dy), kept(w))) << table->name;
      EXPECT_EQ(run.dw, product(transposed(e5m2(dy)), kept(x))) << table->name;
      EXPECT_EQ(run.db, column_sums(dy)) << table->name;
      Pass plain = kit.pass();
      plain.as_trained = false;  // evaluation: the plain model on the forward operand
      Tensor y(DType::kF32, {kTokens, kOut});
      kit.layer.forward(plain, tensor_of(x).view(), y.view());
      EXPECT_EQ(numbers_in(y.view()), product(x, transposed(w))) << table->name;
    }
}

}  // namespace
}  // namespace twill
