// SPDX-License-Identifier: Apache-2.0
// MST: one topology update (notes 2.3, 2.4, 3 and checks M2, M5, M6, M13).
#include "papers/mst_topology.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "ops/update/adamw.h"
#include "papers/broken.h"
#include "sparsity/weights/churn.h"
#include "support/seeds.h"

namespace twill {
namespace {

using Indices = std::vector<std::size_t>;

std::vector<float> floats(const Values& values) { return {values.begin(), values.end()}; }

// `count` random active weights of `size`.
Layer random_layer(std::size_t size, std::int64_t count, Random& random) {
  Layer layer(size);
  const auto n = static_cast<std::int64_t>(size);
  TopologyUpdateArgs draw = layer.args();
  draw.num_random = count;
  topology_update(Context(cpu_table(), 1), draw);
  layer.weight = floats(random.normal(n));
  layer.grad = floats(random.normal(n));
  for (std::size_t i = 0; i < size; ++i)
    if (layer.mask[i] == 0) layer.weight[i] = 0.0f;
  return layer;
}

void update(const KernelTable& table, Layer& layer, const UpdateCounts& counts,
            std::uint32_t number = 0) {
  TopologyUpdateArgs args = layer.args();
  args.num_prune = counts.num_prune;
  args.num_grad = counts.num_grad;
  args.num_random = counts.num_random;
  args.seed = 1234;
  args.update = number;
  topology_update(Context(table, 1), args);
}

TEST(Mst_M2, ConstantTargetKeepsTheCount) {
  Random random;
  for (const KernelTable* table : paper_tables()) {
    Layer layer = random_layer(1200, 240, random);
    for (std::uint32_t k = 0; k < 60; ++k) {
      layer.grad = floats(random.normal(1200));
      update(*table, layer, update_counts(layer.num_active(), 240, 0.3, 3.0), k);
      ASSERT_EQ(layer.num_active(), 240) << table->name << ' ' << k;
      for (std::size_t i = 0; i < 1200; ++i) {
        if (layer.mask[i] == 0) {
          ASSERT_EQ(layer.weight[i], 0.0f);
        } else {
          layer.weight[i] += 0.1f * layer.grad[i];  // a step of training
        }
      }
    }
  }
}

TEST(Mst_M5, GrownStartAtZeroAndRegrownKeepTheirValue) {
  Random random;
  for (const KernelTable* table : paper_tables()) {
    Layer layer = random_layer(1000, 500, random);
    const Layer before = layer;
    update(*table, layer, update_counts(500, 500, 0.5, 3.0));
    std::int64_t regrown = 0, grown = 0;
    std::vector<float> kept;
    for (std::size_t i = 0; i < 1000; ++i) {
      if (before.mask[i] != 0 && layer.mask[i] != 0) {
        EXPECT_EQ(layer.weight[i], before.weight[i]) << i;
        kept.push_back(std::abs(layer.weight[i]));
      } else {
        EXPECT_EQ(layer.weight[i], 0.0f) << i;
      }
      EXPECT_EQ(layer.grown[i], before.mask[i] == 0 && layer.mask[i] != 0 ? 1 : 0) << i;
      grown += layer.grown[i];
    }
    // 250 are kept for their size; what else stayed was dropped and regrown.
    regrown = static_cast<std::int64_t>(kept.size()) - 250;
    EXPECT_GT(regrown, 20) << table->name;
    EXPECT_EQ(grown + regrown, 250);
  }
}

TEST(Mst_M5, PrunedStayZeroThroughTraining) {
  Random random;
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 1);
    Layer layer = random_layer(500, 100, random);
    std::vector<float> m = floats(random.normal(500)), v = floats(random.normal(500, 0.1, 1.0));
    update(*table, layer, update_counts(100, 100, 0.3, 3.0));
    for (std::int64_t step = 1; step <= 30; ++step) {
      layer.grad = floats(random.normal(500));
      for (std::size_t i = 0; i < 500; ++i)
        if (layer.mask[i] == 0) layer.grad[i] = 0.0f;
      adamw(context, {.weight = view_of(layer.weight.data(), layer.shape()),
                      .grad = layer.args().grad,
                      .m = view_of(m.data(), layer.shape()),
                      .v = view_of(v.data(), layer.shape()),
                      .lr = 0.01,
                      .weight_decay = 0.1,
                      .step = step});
      for (std::size_t i = 0; i < 500; ++i) layer.weight[i] *= static_cast<float>(layer.mask[i]);
      for (std::size_t i = 0; i < 500; ++i)
        ASSERT_TRUE(layer.mask[i] != 0 || layer.weight[i] == 0.0f) << table->name << ' ' << i;
    }
  }
}

TEST(Mst_M5, RegrownMomentsAreTheMeanOfTheOld) {
  for (const KernelTable* table : paper_tables()) {
    std::vector<float> m{1, 2, 3, 4, 5}, v{10, 20, 30, 40, 50};
    const std::vector<std::uint8_t> mask{1, 0, 1, 1, 1}, grown{0, 0, 1, 0, 1};
    RegrowMomentsArgs args{.m = view_of(m.data(), {5}),
                           .v = view_of(v.data(), {5}),
                           .mask = view_of(mask.data(), {5}),
                           .grown = view_of(grown.data(), {5})};
    regrow_moments(Context(*table, 1), args);
    EXPECT_EQ(m, (std::vector<float>{1, 2, 0, 4, 0}));
    EXPECT_EQ(v, (std::vector<float>{10, 20, 25, 40, 25})) << table->name;
    args.policy = RegrownMoments::kZero;
    regrow_moments(Context(*table, 1), args);
    EXPECT_EQ(v, (std::vector<float>{10, 20, 0, 40, 0}));
  }
}

// What is kept, by brute force: the best active ones, of equals the first.
std::set<std::size_t> kept_by_hand(const Layer& layer, std::int64_t num_prune) {
  Indices active = ones(layer.mask);
  std::ranges::stable_sort(active, [&](std::size_t a, std::size_t b) {
    return std::abs(layer.weight[a]) > std::abs(layer.weight[b]);
  });
  return {active.begin(), active.end() - num_prune};
}

std::set<std::size_t> grown_by_hand(const Layer& layer, const std::set<std::size_t>& kept,
                                    std::int64_t count) {
  Indices rest;
  for (std::size_t i = 0; i < layer.grad.size(); ++i)
    if (!kept.contains(i)) rest.push_back(i);
  std::ranges::stable_sort(rest, [&](std::size_t a, std::size_t b) {
    return std::abs(layer.grad[a]) > std::abs(layer.grad[b]);
  });
  return {rest.begin(), rest.begin() + count};
}

TEST(Mst_M6, GrowthIsTopKOfTheDenseGradient) {
  Random random;
  for (const KernelTable* table : paper_tables()) {
    for (const bool ties : {false, true}) {
      Layer layer = random_layer(3000, 600, random);
      if (ties) {
        for (float& w : layer.weight) w = std::round(2.0f * w);
        for (float& g : layer.grad) g = std::round(2.0f * g);
      }
      const auto kept = kept_by_hand(layer, 180);
      auto want = grown_by_hand(layer, kept, 700);
      want.insert(kept.begin(), kept.end());
      update(*table, layer, update_counts(600, 1120, 0.3, kGrowByGradient));
      const Indices got = ones(layer.mask);
      EXPECT_EQ(std::set(got.begin(), got.end()), want) << table->name << " ties " << ties;
    }
  }
}

// 400 updates draw 25 of 250 places each, and every place comes 40 times in the mean. Draws without
// replacement: chi-square over n places, times (n - 1)/(n - k), has n - 1 degrees of freedom.
TEST(Mst_M6, RandomPartIsUniform) {
  constexpr int kPlaces = 250, kDrawn = 25, kUpdates = 400;
  const std::uint64_t seed = 20240821;
  std::cout << "seed " << seed << '\n';
  Layer layer(kPlaces + 50);
  std::vector<double> times(kPlaces + 50);
  for (std::uint32_t k = 0; k < kUpdates; ++k) {
    for (std::size_t i = 0; i < layer.mask.size(); ++i) layer.mask[i] = i % 6 == 0 ? 1 : 0;
    TopologyUpdateArgs args = layer.args();
    args.num_random = kDrawn;
    args.seed = seed;
    args.update = k;
    topology_update(Context(fast_paper_table(), 1), args);
    for (const std::size_t i : ones(layer.grown)) times[i] += 1.0;
  }
  const double expected = static_cast<double>(kDrawn) * kUpdates / kPlaces;
  double chi2 = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i % 6 == 0) {
      EXPECT_EQ(times[i], 0.0);
    } else {
      chi2 += (times[i] - expected) * (times[i] - expected) / expected;
    }
  }
  chi2 *= (kPlaces - 1.0) / (kPlaces - kDrawn);
  // Wilson-Hilferty: the cube root of chi2 / dof is close to normal; 2.326 is passed with p = 0.01.
  const double dof = kPlaces - 1.0, spread = 2.0 / (9.0 * dof);
  const double z = (std::cbrt(chi2 / dof) - (1.0 - spread)) / std::sqrt(spread);
  EXPECT_LT(z, 2.326) << "chi2 " << chi2;
  EXPECT_GT(z, -2.326) << "more even than chance, chi2 " << chi2;
}

// A function of seed, update and layer alone, whatever the threads: every rank draws the same.
TEST(Mst_M6, RandomPartIsTheSameOnAllRanks) {
  Random random;
  const Layer start = random_layer(200'000, 40'000, random);
  std::vector<Indices> masks;
  for (const int threads : {1, 2, 3}) {
    Layer layer = start;
    TopologyUpdateArgs args = layer.args();
    args.num_prune = 12'000;
    args.num_grad = 9'000;
    args.num_random = 3'000;
    topology_update(Context(fast_paper_table(), threads), args);
    masks.push_back(ones(layer.mask));
  }
  EXPECT_EQ(masks[0], masks[1]);
  EXPECT_EQ(masks[0], masks[2]);
  EXPECT_EQ(masks[0].size(), 40'000u);
}

Layer literal_layer() {
  Layer layer(12);
  layer.weight = {.9f, 0, .1f, 0, 0, -.5f, 0, 0, 0, -.2f, 0, 0};
  layer.grad = {.1f, .7f, .2f, .3f, .05f, .4f, .6f, .01f, .02f, .9f, .5f, .08f};
  for (const std::size_t i : {0, 2, 5, 9}) layer.mask[i] = 1;
  // Signs do not matter.
  for (std::size_t i = 0; i < 12; i += 2) layer.grad[i] = -layer.grad[i];
  return layer;
}

TEST(Mst_M13, MixedGrowthOfTheLiteralLayer) {
  const UpdateCounts counts = update_counts(4, 4, 0.5, 3.0);
  EXPECT_EQ(counts.num_prune, 2);
  EXPECT_EQ(counts.num_grad, 1);
  EXPECT_EQ(counts.num_random, 1);
  for (const KernelTable* table : paper_tables()) {
    std::set<std::size_t> drawn;
    for (std::uint32_t k = 0; k < 100; ++k) {
      Layer layer = literal_layer();
      update(*table, layer, counts, k);
      Indices active = ones(layer.mask);
      ASSERT_EQ(active.size(), 4u);
      for (const std::size_t sure : {0u, 5u, 9u}) EXPECT_EQ(std::erase(active, sure), 1u) << sure;
      EXPECT_EQ(layer.weight[9], -.2f);
      const std::size_t chance = active.at(0);
      EXPECT_EQ(layer.weight[chance], chance == 2 ? .1f : 0.0f);
      EXPECT_EQ(layer.weight[2], chance == 2 ? .1f : 0.0f);
      EXPECT_EQ(layer.grown[chance], chance == 2 ? 0 : 1);
      drawn.insert(chance);
    }
    EXPECT_EQ(drawn, (std::set<std::size_t>{1, 2, 3, 4, 6, 7, 8, 10, 11})) << table->name;
  }
}

TEST(Mst_M13, PureRiglOfTheLiteralLayer) {
  for (const KernelTable* table : paper_tables()) {
    Layer layer = literal_layer();
    update(*table, layer, update_counts(4, 4, 0.5, kGrowByGradient));
    EXPECT_EQ(ones(layer.mask), (Indices{0, 1, 5, 9})) << table->name;
    EXPECT_EQ(ones(layer.grown), (Indices{1}));
    EXPECT_EQ(layer.weight, (std::vector<float>{.9f, 0, 0, 0, 0, -.5f, 0, 0, 0, -.2f, 0, 0}));
  }
}

TEST(Mst_M13, RestorationOfTheLiteralLayer) {
  const UpdateCounts counts = update_counts(4, 6, 0.5, kGrowByGradient);
  EXPECT_EQ(counts.num_prune, 2);
  EXPECT_EQ(counts.num_grow(), 4);
  for (const KernelTable* table : paper_tables()) {
    Layer layer = literal_layer();
    update(*table, layer, counts);
    EXPECT_EQ(ones(layer.mask), (Indices{0, 1, 5, 6, 9, 10})) << table->name;
    EXPECT_EQ(ones(layer.grown), (Indices{1, 6, 10}));
  }
}

// Three scores, three sets: |w| = 1 2 3 .5; |w| + .5 |g| = 4 2.5 18 .5; |w / (g + 1e-9)| = 1/6 2 .1
// 5e8.
TEST(Mst_M13, DropScoresOfALiteralLayer) {
  const struct {
    DropScore score;
    Indices kept;
  } wanted[] = {{DropScore::kMagnitude, {1, 2}},
                {DropScore::kMest, {0, 2}},
                {DropScore::kSensitivity, {1, 3}}};
  for (const KernelTable* table : paper_tables())
    for (const auto& want : wanted) {
      Layer layer(4);
      layer.weight = {1, -2, 3, -.5f};
      layer.grad = {-6, 1, 30, 0};
      layer.mask = {1, 1, 1, 1};
      TopologyUpdateArgs args = layer.args();
      args.score = want.score;
      args.mest_lambda = .5;
      args.num_prune = 2;
      topology_update(Context(*table, 1), args);
      EXPECT_EQ(ones(layer.mask), want.kept) << table->name;
    }
}

// Of equals the lower index is kept, and is grown.
TEST(Mst_M13, TiesGoToTheLowerIndex) {
  for (const KernelTable* table : paper_tables()) {
    Layer layer(8);
    layer.weight = {1, -1, 1, -1, 0, 0, 0, 0};
    layer.mask = {1, 1, 1, 1, 0, 0, 0, 0};
    layer.grad = {0, 0, 0, 0, 2, -2, 2, 2};
    update(*table, layer, {.num_prune = 2, .num_grad = 2});
    EXPECT_EQ(ones(layer.mask), (Indices{0, 1, 4, 5})) << table->name;
  }
}

}  // namespace
}  // namespace twill
