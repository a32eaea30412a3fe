// SPDX-License-Identifier: Apache-2.0
// venom.md, section 7: the soft threshold and MVUE as VENOM pre-training uses them.
#include <gtest/gtest.h>

#include "papers/broken.h"
#include "papers/soft_support.h"

namespace twill {
namespace {

TEST(Venom_L1, SoftThresholdOfOneTensor) {
  const Floats w{3, -1, 2, .5f, -.2f, .9f, -.9f, .1f, 1, 1, 1, 1};
  const Floats want{2, 0, 1, 0, 0, .7f, -.7f, 0, 0, 0, 0, 0};
  for (const KernelTable* table : paper_tables()) {
    const Floats s = soft_of(*table, w);
    for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(s[i], want[i], 1e-6f) << i;
    const auto sums = sums_of(*table, w, {1, 12});
    EXPECT_NEAR(sums[0] / sums[1], 1.5485, 5e-5);
  }
}

TEST(Venom_V1, SoftThreshold) {
  const Floats w = numbers_of(Law::kGaussian, 100'000);
  for (const KernelTable* table : paper_tables()) {
    const Floats s = soft_of(*table, w);
    for (std::size_t g = 0; g < s.size(); g += 4)
      EXPECT_LE((s[g] != 0) + (s[g + 1] != 0) + (s[g + 2] != 0) + (s[g + 3] != 0), 2);
    EXPECT_EQ(soft_of(*table, s), s);
    const auto sums = sums_of(*table, w, {100, 1000});
    EXPECT_NEAR(sums[0] / sums[1], 1.484, 0.01);
    EXPECT_EQ(soft_of(*table, {.5f, -.5f, 2, 3}), (Floats{0, 0, 1.5f, 2.5f}));  // t1 = t2
    const Floats tie = soft_of(*table, {.1f, .5f, -.5f, .9f});                  // t2 = t3
    EXPECT_EQ(tie[1], 0.0f);
    EXPECT_EQ(tie[2], 0.0f);
    const Floats near = soft_of(*table, {.1f, .5f + 1e-5f, -.5f, .9f});
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(near[k], tie[k], 2e-5f);
  }
}

TEST(Venom_V13, MeanAndVariance) {
  const KernelTable& table = fast_paper_table();
  const Group group{.3f, -1.2f, .7f, 2};
  for (const MvueLaw law : {MvueLaw::kExact, MvueLaw::kTwoDraw})
    EXPECT_LE(worst_mean_error(draws_of(table, group, 40'000, {.law = law}), group), 3.0);
  const Floats x = numbers_of(Law::kGaussian, 1'000'000);
  EXPECT_NEAR(variance_over_energy(table, x, MvueLaw::kExact), 0.474, 0.01);
  EXPECT_NEAR(variance_over_energy(table, x, MvueLaw::kTwoDraw), 0.503, 0.01);
}

TEST(Venom_V13, InclusionOfTwoDraws) {
  const Group group{.3f, -1.2f, .7f, 2};
  const double want[4] = {.179, .625, .398, .799};
  for (const KernelTable* table : paper_tables()) {
    const Draws draws = draws_of(*table, group, 4000, {.law = MvueLaw::kTwoDraw});
    double sum = 0.0;
    for (std::int64_t k = 0; k < 4; ++k) {
      double value = 0.0;
      for (std::int64_t draw = 0; draw < draws.count; ++draw)
        if (draws.kept(draw, k)) value = draws.value(draw, k);
      const auto at = static_cast<std::size_t>(k);
      EXPECT_NEAR(group[at] / value, want[at], 6e-4);
      sum += group[at] / value;
    }
    EXPECT_NEAR(sum, 2.0, 1e-6);
  }
}

}  // namespace
}  // namespace twill
