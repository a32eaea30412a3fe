// SPDX-License-Identifier: Apache-2.0
#include "sparsity/activations/neuron_clusters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/expect_error.h"
#include "support/tables.h"

namespace twill {
namespace {

using Indices = std::vector<std::int32_t>;

std::vector<float> floats(const Values& values) { return {values.begin(), values.end()}; }

// f neurons that point roughly along one of E axes, axis i % E for neuron i.
std::vector<float> planted(Random& random, std::int64_t f, std::int64_t d, std::int64_t E,
                           double noise) {
  std::vector<float> u = floats(random.normal(f * d, noise));
  for (std::int64_t i = 0; i < f; ++i) u[i * d + i % E] += 1.0f;
  return u;
}

std::vector<std::int64_t> sizes_of(const Indices& cluster, std::int64_t E) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(E));
  for (const std::int32_t e : cluster) ++sizes[e];
  return sizes;
}

class NeuronClustersTest : public SeededTest {};

TEST_F(NeuronClustersTest, FindsPlantedClusters) {
  Random random;
  const std::int64_t f = 96, d = 16, E = 4;
  const std::vector<float> u = planted(random, f, d, E, 0.05);
  const NeuronClusters found = cluster_neurons(view_of(u.data(), {f, d}), {.num_clusters = E});
  for (std::int64_t i = 0; i < f; ++i) EXPECT_EQ(found.cluster[i], found.cluster[i % E]) << i;
  EXPECT_EQ(sizes_of(found.cluster, E), (std::vector<std::int64_t>(4, 24)));
}

TEST_F(NeuronClustersTest, SizesAreExactWhateverTheData) {
  Random random;
  for (const std::int64_t E : {1, 2, 3, 8}) {
    std::vector<float> u = floats(random.normal(48 * 5));
    std::fill_n(u.begin(), 20, 0.0f);  // no direction
    u[21] = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t i = 100; i < 200; ++i) u[i] = 1.0f;  // all the same way
    const NeuronClusters found = cluster_neurons(view_of(u.data(), {48, 5}), {.num_clusters = E});
    EXPECT_EQ(sizes_of(found.cluster, E),
              std::vector<std::int64_t>(static_cast<std::size_t>(E), 48 / E));
    for (const float c : found.centroids) EXPECT_TRUE(std::isfinite(c));
  }
}

TEST_F(NeuronClustersTest, CentroidsAreDirections) {
  Random random;
  const std::vector<float> u = floats(random.normal(64 * 6));
  const NeuronClusters found = cluster_neurons(view_of(u.data(), {64, 6}), {.num_clusters = 4});
  ASSERT_EQ(found.centroids.size(), 24u);
  for (std::size_t e = 0; e < 4; ++e) {
    double length = 0.0;
    for (std::size_t k = 0; k < 6; ++k) length += std::pow(double{found.centroids[e * 6 + k]}, 2.0);
    EXPECT_NEAR(length, 1.0, 1e-6);
  }
}

TEST_F(NeuronClustersTest, SeedLayerAndStartChoose) {
  Random random;
  const std::vector<float> u = floats(random.normal(64 * 6));
  const ConstView weight = view_of(u.data(), {64, 6});
  const auto cluster = [&](const ClusterOptions& options) {
    return cluster_neurons(weight, options).cluster;
  };
  const Indices base = cluster({.num_clusters = 4});
  EXPECT_EQ(base, cluster({.num_clusters = 4}));
  EXPECT_NE(base, cluster({.num_clusters = 4, .seed = 1}));
  EXPECT_NE(base, cluster({.num_clusters = 4, .layer = 1}));
  // A start where the last run ended stays there.
  const NeuronClusters settled = cluster_neurons(weight, {.num_clusters = 4, .num_rounds = 100});
  const NeuronClusters again = cluster_neurons(
      weight, {.num_clusters = 4, .num_rounds = 1, .seed = 9, .centroids = settled.centroids});
  EXPECT_EQ(again.cluster, settled.cluster);
}

TEST_F(NeuronClustersTest, MarginsDecideWhoComesFirst) {
  // Centroids (1, 0) and (0, 1), two places each. Neurons 0 to 2 prefer the first one, neuron 1
  // the least: it has to go.
  const std::vector<float> u{1, 0.1f, 1, 0.8f, 1, 0, 0, 1}, start{1, 0, 0, 1};
  const NeuronClusters found = cluster_neurons(
      view_of(u.data(), {4, 2}), {.num_clusters = 2, .num_rounds = 1, .centroids = start});
  EXPECT_EQ(found.cluster, (Indices{0, 1, 0, 1}));
}

TEST_F(NeuronClustersTest, TiesGoToTheLowestIndex) {
  const std::vector<float> u{1, 1, 1, 1, 1, 1, 1, 1}, start{1, 0, 0, 1};
  const NeuronClusters found = cluster_neurons(
      view_of(u.data(), {4, 2}), {.num_clusters = 2, .num_rounds = 1, .centroids = start});
  EXPECT_EQ(found.cluster, (Indices{0, 0, 1, 1}));
}

TEST_F(NeuronClustersTest, OrderInterleavesByFours) {
  const Indices cluster{0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0};
  EXPECT_EQ(interleaved_order(cluster, 2),
            (Indices{0, 3, 4, 7, 1, 2, 5, 6, 8, 10, 14, 15, 9, 11, 12, 13}));
  // Six of each: the last window holds two of each.
  const Indices six{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(interleaved_order(six, 2), (Indices{0, 1, 2, 3, 6, 7, 8, 9, 4, 5, 10, 11}));
}

TEST_F(NeuronClustersTest, RefusesBadArguments) {
  const std::vector<float> u(12);
  const ConstView weight = view_of(u.data(), {6, 2});
  expect_error([&] { cluster_neurons(weight.reshaped({12}), {}); },
               "[cluster_neurons] weight must be f32 of shape (f, d), got f32 of shape (12)");
  expect_error([&] { cluster_neurons(weight, {.num_clusters = 4}); },
               "[cluster_neurons] 6 neurons must be a multiple of the number of clusters, got 4");
  expect_error([&] { cluster_neurons(weight, {.num_clusters = 2, .centroids = u}); },
               "[cluster_neurons] centroids must have 4 elements, got 12");
  expect_error(
      [] {
        interleaved_order(Indices{0, 2}, 2);
      },
      "[interleaved_order] cluster[1] must be in [0, 2), got 2");
}

}  // namespace
}  // namespace twill
