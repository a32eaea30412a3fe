// SPDX-License-Identifier: Apache-2.0
// MST: densities, drop shares and counts (notes 2.2, 2.3, 2.4).
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sparsity/topology/density.h"
#include "sparsity/weights/churn.h"
#include "support/expect_error.h"

namespace twill {
namespace {

// c_attn, attn.c_proj, c_fc, mlp.c_proj of every block, then the head (vocab 0: none).
std::vector<LayerShape> gpt_shapes(std::int64_t layers, std::int64_t d, std::int64_t vocab) {
  std::vector<LayerShape> shapes;
  for (std::int64_t l = 0; l < layers; ++l)
    shapes.insert(shapes.end(), {{3 * d, d}, {d, d}, {4 * d, d}, {d, 4 * d}});
  if (vocab > 0) shapes.push_back({vocab, d});
  return shapes;
}

struct DensityRow {
  std::int64_t layers, width, vocab;
  double sparsity, c_attn, attn_proj, mlp, head;
};

constexpr DensityRow kDensities[] = {
    {12, 768, 50304, 0.50, 0.5403, 0.8104, 0.5065, 0.4114},
    {12, 768, 50304, 0.80, 0.2161, 0.3242, 0.2026, 0.1646},
    {12, 768, 50304, 0.90, 0.1081, 0.1621, 0.1013, 0.0823},
    {12, 768, 50304, 0.95, 0.0540, 0.0810, 0.0507, 0.0411},
    {12, 768, 50304, 0.99, 0.0108, 0.0162, 0.0101, 0.0082},
    {12, 768, 0, 0.90, 0.1000, 0.1500, 0.0938, 0.0},
    {24, 1024, 50304, 0.90, 0.1035, 0.1553, 0.0971, 0.0792},
    {36, 1280, 50304, 0.90, 0.1020, 0.1529, 0.0956, 0.0784},
    {8, 512, 32768, 0.90, 0.1105, 0.1658, 0.1036, 0.0842},
};

TEST(Mst_M1, DensitiesOfTheTable) {
  for (const DensityRow& row : kDensities) {
    const auto shapes = gpt_shapes(row.layers, row.width, row.vocab);
    const auto dens = layer_densities(DensityRule::kErdosRenyi, shapes, 1.0 - row.sparsity);
    EXPECT_NEAR(dens[0], row.c_attn, 1e-4);
    EXPECT_NEAR(dens[1], row.attn_proj, 1e-4);
    EXPECT_NEAR(dens[2], row.mlp, 1e-4);
    EXPECT_NEAR(dens[3], row.mlp, 1e-4);
    if (row.vocab > 0) {
      EXPECT_NEAR(dens.back(), row.head, 1e-4);
    }
  }
}

TEST(Mst_M1, TargetsAddUp) {
  for (const DensityRow& row : kDensities) {
    const auto shapes = gpt_shapes(row.layers, row.width, row.vocab);
    for (const DensityRule rule : {DensityRule::kErdosRenyi, DensityRule::kUniform}) {
      double total = 0.0, active = 0.0;
      const auto targets = layer_targets(rule, shapes, 1.0 - row.sparsity);
      for (std::size_t l = 0; l < shapes.size(); ++l) {
        total += static_cast<double>(shapes[l].num_weights());
        active += static_cast<double>(targets[l]);
      }
      EXPECT_NEAR(active, total * (1.0 - row.sparsity), static_cast<double>(shapes.size()));
    }
  }
}

TEST(Mst_M1, LayersAboveOneAreDense) {
  const auto solve = [](std::vector<LayerShape> shapes, double sparsity) {
    return layer_densities(DensityRule::kErdosRenyi, shapes, 1.0 - sparsity);
  };
  const auto first = solve({{4, 4}, {64, 64}}, 0.5);
  EXPECT_EQ(first[0], 1.0);
  EXPECT_NEAR(first[1], 0.498047, 1e-6);
  const auto second = solve({{8, 8}, {64, 64}}, 0.8);
  EXPECT_EQ(second[0], 1.0);
  EXPECT_NEAR(second[1], 0.1875, 1e-6);
  const auto third = solve({{8, 8}, {32, 32}, {64, 16}}, 0.5);
  EXPECT_EQ(third[0], 1.0);
  EXPECT_NEAR(third[1], 0.430556, 1e-6);
  EXPECT_NEAR(third[2], 0.538194, 1e-6);
}

TEST(Mst_M1, DenseIsAllOnes) {
  const auto shapes = gpt_shapes(2, 96, 1000);
  const auto targets = layer_targets(DensityRule::kErdosRenyi, shapes, 1.0);
  for (std::size_t l = 0; l < shapes.size(); ++l) EXPECT_EQ(targets[l], shapes[l].num_weights());
  // Nearly dense: never more than all of a layer, and the sum still holds.
  const auto nearly = layer_densities(DensityRule::kErdosRenyi, shapes, 0.99);
  double active = 0.0, total = 0.0;
  for (std::size_t l = 0; l < shapes.size(); ++l) {
    EXPECT_LE(nearly[l], 1.0);
    active += nearly[l] * static_cast<double>(shapes[l].num_weights());
    total += static_cast<double>(shapes[l].num_weights());
  }
  EXPECT_NEAR(active / total, 0.99, 1e-12);
}

TEST(Mst_M1, ImpossibleDensitiesAreRefused) {
  const std::vector<LayerShape> shapes{{4, 4}}, empty{{4, 0}};
  for (const double density : {0.0, -0.5, 1.5, std::nan("")})
    expect_error([&] { layer_densities(DensityRule::kErdosRenyi, shapes, density); },
                 "density must be above 0 and at most 1, got ");
  expect_error([&] { layer_densities(DensityRule::kUniform, empty, 0.5); },
               "a layer must have weights, got 4 x 0");
}

struct CountRow {
  std::int64_t target, prune, grow, grad, random;
};

TEST(Mst_M3, CountsOfTheTable) {
  for (const CountRow& row :
       {CountRow{1000, 300, 300, 225, 75}, CountRow{500, 500, 0, 0, 0},
        CountRow{2000, 300, 1300, 975, 325}, CountRow{800, 300, 100, 75, 25}}) {
    const UpdateCounts mixed = update_counts(1000, row.target, 0.3, 3.0);
    EXPECT_EQ(mixed.num_prune, row.prune) << row.target;
    EXPECT_EQ(mixed.num_grow(), row.grow) << row.target;
    EXPECT_EQ(mixed.num_grad, row.grad) << row.target;
    EXPECT_EQ(mixed.num_random, row.random) << row.target;
    const UpdateCounts gradient = update_counts(1000, row.target, 0.3, kGrowByGradient);
    EXPECT_EQ(gradient.num_grad, row.grow);
    EXPECT_EQ(gradient.num_random, 0);
    const UpdateCounts chance = update_counts(1000, row.target, 0.3, kGrowAtRandom);
    EXPECT_EQ(chance.num_grad, 0);
    EXPECT_EQ(chance.num_random, row.grow);
  }
}

TEST(Mst_M3, SmallSplits) {
  const auto split = [](std::int64_t grow) {
    const UpdateCounts counts = update_counts(0, grow, 0.3, 3.0);
    return std::pair(counts.num_grad, counts.num_random);
  };
  EXPECT_EQ(split(0), std::pair(std::int64_t{0}, std::int64_t{0}));
  EXPECT_EQ(split(1), std::pair(std::int64_t{0}, std::int64_t{1}));
  EXPECT_EQ(split(2), std::pair(std::int64_t{1}, std::int64_t{1}));
  EXPECT_EQ(split(3), std::pair(std::int64_t{2}, std::int64_t{1}));
}

// The counts fit the op: pruned ones are active, grown ones have places, the target is met.
TEST(Mst_M3, CountsAreAlwaysPossible) {
  constexpr std::int64_t kSize = 37;
  for (std::int64_t active = 0; active <= kSize; ++active)
    for (std::int64_t target = 0; target <= kSize; ++target)
      for (const double zeta : {0.0, 0.1, 0.3, 0.77, 1.0})
        for (const double ratio : {0.0, 0.5, 3.0, kGrowByGradient}) {
          const UpdateCounts counts = update_counts(active, target, zeta, ratio);
          EXPECT_GE(counts.num_grad, 0);
          EXPECT_GE(counts.num_random, 0);
          EXPECT_LE(counts.num_prune, active);
          EXPECT_LE(counts.num_grow(), kSize - active + counts.num_prune);
          EXPECT_EQ(active - counts.num_prune + counts.num_grow(), target);
        }
}

TEST(Mst_M3, BadCountsAreRefused) {
  expect_error([] { update_counts(-1, 0, 0.3, 3.0); },
               "counts of weights must be 0 or more, got -1 and 0");
  expect_error([] { update_counts(1, 1, 1.5, 3.0); }, "zeta must be from 0 to 1, got 1.5");
  expect_error([] { update_counts(1, 1, 0.5, -1.0); },
               "the ratio of growth must be 0 or more, got -1");
}

TEST(Mst_M4, ZetaOverAThousandSteps) {
  const ChurnSchedule schedule{.restarts = {{0, 0.3}}, .end = 1000};
  EXPECT_EQ(churn_at(schedule, 0), 0.3);
  EXPECT_NEAR(churn_at(schedule, 250), 0.256066, 1e-6);
  EXPECT_NEAR(churn_at(schedule, 500), 0.15, 1e-12);
  EXPECT_NEAR(churn_at(schedule, 750), 0.043934, 1e-6);
  EXPECT_EQ(churn_at(schedule, 1000), 0.0);
  EXPECT_EQ(churn_at(schedule, 1500), 0.0);
}

TEST(Mst_M4, EndValueFollowsC) {
  EXPECT_NEAR(churn_at({.restarts = {{0, 0.3}}, .end = 1000, .c = 0.5}, 1000), 0.15, 1e-12);
  for (const std::int64_t step : {0, 1, 333, 1000})
    EXPECT_EQ(churn_at({.restarts = {{0, 0.3}}, .end = 1000, .c = 0.0}, step), 0.3);
}

TEST(Mst_M4, ARestartReturnsItsZetaExactly) {
  const ChurnSchedule schedule{.restarts = {{0, 0.3}, {400, 0.17}, {700, 0.21}}, .end = 1000};
  validate(schedule);
  EXPECT_EQ(churn_at(schedule, 400), 0.17);
  EXPECT_EQ(churn_at(schedule, 700), 0.21);
  EXPECT_NEAR(churn_at(schedule, 200), 0.15, 1e-12);
  EXPECT_NEAR(churn_at(schedule, 550), 0.085, 1e-12);
  EXPECT_LT(churn_at(schedule, 399), 1e-5);
  EXPECT_EQ(churn_at(schedule, 1000), 0.0);
}

TEST(Mst_M4, BadSchedulesAreRefused) {
  expect_error([] { validate(ChurnSchedule{.restarts = {}, .end = 10}); },
               "churn needs a first zeta");
  expect_error(
      [] {
        validate(ChurnSchedule{.restarts = {{0, 1.2}}, .end = 10});
      },
      "zeta must be from 0 to 1, got 1.2");
  expect_error(
      [] {
        validate(ChurnSchedule{.restarts = {{0, 0.3}}, .end = 10, .c = 2.0});
      },
      "the churn's c must be from 0 to 1, got 2");
  expect_error(
      [] {
        validate(ChurnSchedule{.restarts = {{5, 0.3}, {5, 0.2}}, .end = 10});
      },
      "churn restarts at step 5, which is not before the next at 5");
  expect_error(
      [] {
        validate(ChurnSchedule{.restarts = {{10, 0.3}}, .end = 10});
      },
      "churn restarts at step 10, which is not before the end at 10");
}

}  // namespace
}  // namespace twill
