// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/phase_alone.h"

#include <gtest/gtest.h>

#include "train/run/run_config.h"

namespace twill::cli {
namespace {

constexpr RunLength kRun{.steps = 1200, .tokens_per_step = 64};

TEST(PhaseAlone, TakesThePhaseOfTheMoment) {
  const RecipeConfig recipe = read_recipe("fst");
  const PhaseAlone sparse = phase_alone(recipe, kRun, 0.5), dense = phase_alone(recipe, kRun, 0.9);
  EXPECT_EQ(sparse.phase, 0);
  ASSERT_EQ(sparse.recipe.phase.size(), 1u);
  EXPECT_EQ(sparse.recipe.phase.front().weights.pattern, WeightPattern::kTransposable24);
  EXPECT_EQ(sparse.recipe.phase.front().until, "1.0");
  EXPECT_EQ(dense.phase, 1);
  EXPECT_TRUE(dense.recipe.is_dense());
  EXPECT_EQ(phase_alone(recipe, kRun, 1.0).phase, 1);
  EXPECT_TRUE(phase_alone(RecipeConfig(), kRun, 0.5).recipe.is_dense());
}

TEST(PhaseAlone, ATopologyKeepsItsDensity) {
  const RecipeConfig recipe = read_recipe("mst");
  const PhaseAlone sparse = phase_alone(recipe, kRun, 0.5);
  EXPECT_EQ(sparse.phase, 1);
  EXPECT_DOUBLE_EQ(sparse.recipe.phase.front().topology.density, 0.1);
  // Half of the restoration: stair 7 of 12 from 0.1 to 1, the first taken at once.
  const TopologyPart later = phase_alone(recipe, kRun, 0.9).recipe.phase.front().topology;
  EXPECT_NEAR(later.density, 0.1 + 0.9 * 7 / 12, 1e-12);
  EXPECT_DOUBLE_EQ(later.end(), later.density);
}

TEST(PhaseAlone, LeavesTheStateOfEarlierPhasesOut) {
  const PhaseConfig phase = phase_alone(read_recipe("step"), kRun, 0.9).recipe.phase.front();
  EXPECT_EQ(phase.optimizer.second_moment, SecondMoment::kAdaptive);
  EXPECT_EQ(phase_alone(read_recipe("step"), kRun, 0.1).recipe.phase.front().early_end.when,
            EarlyEnd::kNever);
}

TEST(PhaseAlone, ThePlanFollows) {
  Plan plan;
  plan.layer.resize(3);
  plan.layer[1].phase = plan.layer[2].phase = 1;
  plan.layer[1].outputs = 7;
  const Plan alone = plan_of_phase(plan, 1);
  ASSERT_EQ(alone.layer.size(), 2u);
  EXPECT_EQ(alone.layer.front().phase, 0);
  EXPECT_EQ(alone.layer.front().outputs, 7);
}

TEST(RareWork, IsNewMasksOrAMovedTopology) {
  const RareWork masks = rare_work(read_recipe("fst").phase.front(), kRun.steps);
  EXPECT_EQ(masks.every, 40);
  EXPECT_EQ(masks.next(0), 0);
  EXPECT_EQ(masks.next(1), 40);
  EXPECT_EQ(masks.next(40), 40);
  // 120 updates of a run, at least 10 steps apart; step 9 is the first that ends in one.
  const RareWork topology = rare_work(read_recipe("rigl").phase.front(), kRun.steps);
  EXPECT_EQ(topology.every, 10);
  EXPECT_EQ(topology.next(0), 9);
  EXPECT_EQ(topology.next(10), 19);
  EXPECT_EQ(rare_work(read_recipe("static").phase.front(), kRun.steps).every, 0);
  EXPECT_EQ(rare_work(read_recipe("s-ste").phase.front(), kRun.steps).every, 0);
  EXPECT_EQ(rare_work(PhaseConfig(), kRun.steps).every, 0);
}

TEST(RareWork, IsSpreadOverTheStepsBetween) {
  EXPECT_DOUBLE_EQ(mean_seconds(1.0, 5.0, 4), 2.0);
  EXPECT_DOUBLE_EQ(mean_seconds(1.0, 5.0, 0), 1.0);
}

}  // namespace
}  // namespace twill::cli
