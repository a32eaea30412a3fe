// SPDX-License-Identifier: Apache-2.0
// FST, acceptance checks E, and S-STE S10: how masks change.
#include <map>

#include <gtest/gtest.h>

#include "papers/broken.h"
#include "papers/selection.h"

namespace twill {
namespace {

Bytes bytes_of(std::uint16_t pattern) {
  Bytes mask;
  for (int i = 15; i >= 0; --i) mask.push_back(pattern >> i & 1);
  return mask;
}

// 4e6 weights of N(0, 1), drawn once for the tests that need so many. The standard error of their
// flip rates is below 1 %.
struct NoisyWeights {
  Matrix w = normal_matrix(2000, 2000, 1), noise = normal_matrix(2000, 2000, 2);

  // w + N(0, eps²).
  Matrix with_noise(float eps) const {
    Matrix noisy = w;
    for (std::size_t i = 0; i < w.x.size(); ++i) noisy.x[i] += eps * noise.x[i];
    return noisy;
  }
};
const NoisyWeights& noisy_weights() {
  static const NoisyWeights weights;
  return weights;
}

TEST(Fst_E1, UnchangedWeightsDoNotFlip) {
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 2);
    const Matrix w = normal_matrix(64, 64, 1);
    EXPECT_EQ(flip_rate(context, row_mask(context, w), row_mask(context, w)), 0.0);
    EXPECT_EQ(flip_rate(context, block_mask(context, w), block_mask(context, w)), 0.0);
  }
}

TEST(Fst_E2, ABlockChangesByFourBitsAtLeast) {
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 1);
    std::map<int, int> pairs;
    for (std::size_t i = 0; i < 90; ++i)
      for (std::size_t j = i + 1; j < 90; ++j)
        ++pairs[static_cast<int>(16.0 * flip_rate(context, bytes_of(transposable_patterns()[i]),
                                                  bytes_of(transposable_patterns()[j])))];
    const std::map<int, int> want{{4, 576}, {6, 576}, {8, 1656}, {10, 576}, {12, 576}, {16, 45}};
    EXPECT_EQ(pairs, want) << table->name;
  }
}

TEST(Fst_E3, OneMoveOfFourIsHalf) {
  for (const KernelTable* table : paper_tables())
    EXPECT_EQ(flip_rate(Context(*table, 1), {1, 1, 0, 0}, {1, 0, 1, 0}), 0.5) << table->name;
}

TEST(Fst_E4, FlipsUnderNoise) {
  const Context context(fast_paper_table(), 2);
  const Matrix& w = noisy_weights().w;
  const Matrix noisy = noisy_weights().with_noise(0.01f);
  EXPECT_NEAR(flip_rate(context, row_mask(context, w), row_mask(context, noisy)), 0.00667,
              0.04 * 0.00667);
  EXPECT_NEAR(flip_rate(context, block_mask(context, w), block_mask(context, noisy)), 0.00805,
              0.05 * 0.00805);
}

TEST(Sste_S10, FlipsOfTheHardMaskUnderNoise) {
  const Context context(fast_paper_table(), 2);
  const Bytes before = row_mask(context, noisy_weights().w);
  const auto flips = [&](float eps) {
    return flip_rate(context, before, row_mask(context, noisy_weights().with_noise(eps)));
  };
  EXPECT_NEAR(flips(0.01f), 0.00667, 0.04 * 0.00667);
  EXPECT_NEAR(flips(0.1f), 0.0645, 0.04 * 0.0645);
}

}  // namespace
}  // namespace twill
