// SPDX-License-Identifier: Apache-2.0
#include "sparsity/activations/feature_split.h"

#include <numeric>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace twill {
namespace {

using Flags = std::vector<std::uint8_t>;

TEST(FeatureSplit, MarksTheDensest) {
  const std::vector<std::int32_t> counts{3, 9, 1, 9, 7, 9, 0, 2};
  EXPECT_EQ(dense_neurons(counts, 0.5), (Flags{0, 1, 0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(dense_neurons(counts, 0.25), (Flags{0, 1, 0, 1, 0, 0, 0, 0}));  // a tie of three
}

TEST(FeatureSplit, RoundsUp) {
  const std::vector<std::int32_t> counts(100, 1);
  const auto num_dense = [&](double share) {
    const Flags flags = dense_neurons(counts, share);
    return std::accumulate(flags.begin(), flags.end(), 0);
  };
  EXPECT_EQ(num_dense(0.0), 0);
  EXPECT_EQ(num_dense(0.001), 1);
  EXPECT_EQ(num_dense(0.05), 5);
  EXPECT_EQ(num_dense(0.07), 7);  // 7.000000000000001 in f64
  EXPECT_EQ(num_dense(0.051), 6);
  EXPECT_EQ(num_dense(1.0), 100);
  EXPECT_TRUE(dense_neurons({}, 0.05).empty());
}

TEST(FeatureSplit, RefusesABadShare) {
  expect_error([] { dense_neurons({}, 1.5); }, "[dense_neurons] share must be in [0, 1], got 1.5");
}

}  // namespace
}  // namespace twill
