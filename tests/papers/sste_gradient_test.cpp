// SPDX-License-Identifier: Apache-2.0
// s-ste.md, sections 7.1 and 7.2: FP8 and the MVUE statistics. fst.md: the rule of STEP.
#include <gtest/gtest.h>

#include "ops/numbers/fp8.h"
#include "ops/update/adamw.h"
#include "ops/update/moment_change.h"
#include "papers/broken.h"
#include "papers/soft_support.h"

namespace twill {
namespace {

Floats fp8_of(const KernelTable& table, const Floats& x, Fp8Format format) {
  Floats y(x.size());
  const Shape shape{static_cast<std::int64_t>(x.size())};
  fp8_round(Context(table, 1),
            {.x = view_of(x.data(), shape), .y = view_of(y.data(), shape), .format = format});
  return y;
}

TEST(Sste_L4, Fp8Vector) {
  const Floats x{1, -2, .5f, .3f};
  for (const KernelTable* table : paper_tables())
    for (const Fp8Format format : {Fp8Format::kE4m3, Fp8Format::kE5m2}) {
      const Floats y = fp8_of(*table, x, format);
      EXPECT_EQ(y[0], 1.0f);
      EXPECT_EQ(y[1], -2.0f);
      EXPECT_EQ(y[2], .5f);
      EXPECT_NEAR(y[3], 0.285714f, 1e-6f);  // 64 / 224, 8192 / 28672
    }
}

// The largest entry sits at the format's maximum, so s = 1: the smallest subnormal stays, half of it
// is a tie that goes to zero. Any other scale loses the one or keeps the other.
TEST(Sste_L4, LargestEntrySetsTheScale) {
  for (const KernelTable* table : paper_tables()) {
    EXPECT_EQ(fp8_of(*table, {448, 0x1p-9f, 0x1p-10f}, Fp8Format::kE4m3), (Floats{448, 0x1p-9f, 0}))
        << table->name;
    EXPECT_EQ(fp8_of(*table, {57344, 0x1p-16f, 0x1p-17f}, Fp8Format::kE5m2),
              (Floats{57344, 0x1p-16f, 0}))
        << table->name;
  }
}

TEST(Sste_S7, MeanIsTheGradient) {
  const KernelTable& table = fast_paper_table();
  for (const Group& group : {Group{.7f, .2f, -1.1f, .4f}, Group{1e-3f, 2, 1e-2f, 0}})
    for (const MvueLaw law : {MvueLaw::kExact, MvueLaw::kTwoDraw}) {
      const Draws draws = draws_of(table, group, 100'000, {.law = law, .seed = 77});
      EXPECT_LE(worst_mean_error(draws, group), 4.0);
      EXPECT_LE(most_nonzeros(draws), 2);
    }
}

TEST(Sste_S7, VarianceOverEnergy) {
  const Floats x = numbers_of(Law::kGaussian, 4'000'000);
  EXPECT_NEAR(variance_over_energy(fast_paper_table(), x, MvueLaw::kExact), 0.474, 0.003);
  EXPECT_NEAR(variance_over_energy(fast_paper_table(), x, MvueLaw::kTwoDraw), 0.503, 0.003);
}

TEST(Sste_S7, SingleEntriesStayAsTheyAre) {
  for (const KernelTable* table : paper_tables())
    for (const float x : {1e-7f, 1.0f, 2.0f, 1e3f, 6e4f, 0.0f, 0x1p-149f, 0x1p-127f}) {
      const Draws draws = draws_of(*table, {x, 0, 0, 0}, 400);
      for (std::int64_t draw = 0; draw < draws.count; ++draw) {
        EXPECT_EQ(draws.value(draw, 0), x);
        for (std::int64_t k = 1; k < 4; ++k) EXPECT_EQ(draws.value(draw, k), 0.0f);
      }
    }
}

// Away from underflow: magnitudes within 2^7 (e4m3) or 2^14 (e5m2) of the largest are normal.
TEST(Sste_S8, RelativeError) {
  const Floats numbers = numbers_of(Law::kUniform, 20'000);
  for (const KernelTable* table : paper_tables())
    for (const Fp8Format format : {Fp8Format::kE4m3, Fp8Format::kE5m2}) {
      const bool e4m3 = format == Fp8Format::kE4m3;
      Floats x;
      for (const float v : numbers)
        if (std::abs(v) > 0x1p-7f) x.push_back(1e-3f * v);
      const Floats y = fp8_of(*table, x, format);
      double worst = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i)
        worst = std::max(worst, std::abs(double{y[i]} - x[i]) / std::abs(double{x[i]}));
      EXPECT_LE(worst, (e4m3 ? 1.0 / 17.0 : 1.0 / 9.0) + 1e-5);
      EXPECT_GE(worst, e4m3 ? 0.055 : 0.105);  // the bounds are met
    }
}

// amax · s = 448 or 57344: the largest entry comes back, and its half-step below does not pass it.
TEST(Sste_S8, LargestEntryAndZeros) {
  for (const KernelTable* table : paper_tables())
    for (const Fp8Format format : {Fp8Format::kE4m3, Fp8Format::kE5m2}) {
      for (const float amax : {1.0f, 3e-5f, 7e4f, 0.1f}) {
        const Floats y = fp8_of(*table, {amax, -amax, amax / 2}, format);
        EXPECT_NEAR(y[0] / amax, 1.0f, 1e-6f);
        EXPECT_NEAR(y[1] / amax, -1.0f, 1e-6f);
        EXPECT_NEAR(y[2] / amax, 0.5f, 1e-6f);
      }
      EXPECT_EQ(fp8_of(*table, {0, 0, 0}, format), (Floats{0, 0, 0}));
    }
}

// STEP: Z = mean |v' - v|, then v stays and is not corrected.
TEST(Fst_Step, ChangeOfSecondMoments) {
  const Floats grad{2, 0, -4, 1}, v{4, 8, 1, 1};
  for (const KernelTable* table : paper_tables()) {
    double sum = 0.0;
    moment_change(Context(*table, 1), {.grad = view_of(grad.data(), {4}),
                                       .v = view_of(v.data(), {4}),
                                       .sum = view_of(&sum, {1}),
                                       .beta2 = 0.75,
                                       .grad_scale = 0.5});
    EXPECT_EQ(sum, 0.25 * (3 + 8 + 3 + 0.75));
  }
}

TEST(Fst_Step, FrozenSecondMoments) {
  for (const KernelTable* table : paper_tables()) {
    Floats weight{0, 0}, grad{2, 2}, m{4, 4}, v{16, 0.25f};
    adamw(Context(*table, 1), {.weight = view_of(weight.data(), {2}),
                               .grad = view_of(grad.data(), {2}),
                               .m = view_of(m.data(), {2}),
                               .v = view_of(v.data(), {2}),
                               .lr = 1.0,
                               .beta1 = 0.5,
                               .beta2 = 0.5,
                               .eps = 1.0,
                               .step = 2,
                               .freeze_v = true});
    EXPECT_EQ(v, (Floats{16, 0.25f}));
    EXPECT_EQ(m, (Floats{3, 3}));
    EXPECT_NEAR(weight[0], -4.0f / 5.0f, 1e-6f);
    EXPECT_NEAR(weight[1], -4.0f / 1.5f, 1e-6f);
  }
}

}  // namespace
}  // namespace twill
