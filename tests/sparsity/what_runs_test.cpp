// SPDX-License-Identifier: Apache-2.0
// What is said to run is what runs: matrices, packed ones, sampled gradients, in the words that people read.
#include "sparsity/plan/what_runs.h"

#include <gtest/gtest.h>

#include "papers/recipe_run.h"
#include "train/run/sparsity_records.h"

namespace twill {
namespace {

struct Planned {
  explicit Planned(const char* recipe, Execution execution) : like(busy(recipe)) {
    config = like.config.recipe;
    config.execution = execution;
    plan.execution = execution;
    plan.layer = planned_sites(config, like.trainer.builder().linear_seams());
  }
  std::vector<PhaseRuns> runs() {
    return what_runs(config, plan, like.trainer.builder().linear_seams());
  }
  std::string text() { return runs_text(config, runs()); }

  TinyTrainer like;
  RecipeConfig config;
  Plan plan;
};

TEST(WhatRuns, CountsMatricesAndSampledGradients) {
  Planned fst("fst", Execution::kAuto);
  const std::int64_t all = fst.runs().at(0).matrices;
  ASSERT_EQ(all, 2 * fst.plan.layer[0].layers);
  EXPECT_EQ(fst.text(),
            fmt::format("{0} of {0} matrices 2:4-transposable, none packed; MVUE in all", all));
  for (PlanEntry& entry : fst.plan.layer) entry.forward_below = 0.6;
  EXPECT_EQ(fst.text(), fmt::format("{0} of {0} matrices 2:4-transposable; MVUE in all", all));
  fst.plan.layer[0].forward_below = 0.0;
  EXPECT_EQ(fst.text(), fmt::format("{0} of {0} matrices 2:4-transposable, {1} packed; MVUE in all",
                                    all, all / 2));
}

TEST(WhatRuns, SaysWhatTheFastestWayLeftOut) {
  Planned fst("fst", Execution::kFastest);
  const std::int64_t all = fst.runs().at(0).matrices;
  for (PlanEntry& entry : fst.plan.layer) entry.forward_below = entry.dgrad_below = 0.6;
  fst.plan.layer[1].on = false;
  EXPECT_EQ(fst.text(), fmt::format("{} of {} matrices 2:4-transposable, {} dense; MVUE in none "
                                    "(dense gradients)",
                                    all / 2, all, all / 2));
  const std::string phase = describe(fst.config.phase[0], fst.runs().at(0));
  EXPECT_EQ(phase.find("mvue gradients"), std::string::npos) << phase;
  fst.plan.layer[0].wgrad_below = 0.6;
  EXPECT_EQ(fst.runs().at(0).sampled, all / 2);
  EXPECT_NE(describe(fst.config.phase[0], fst.runs().at(0)).find("mvue gradients"),
            std::string::npos);
}

TEST(WhatRuns, NamesSelectedActivations) {
  Planned as_written("relu2-24", Execution::kAuto), fastest("relu2-24", Execution::kFastest);
  EXPECT_NE(as_written.text().find("with selected activations"), std::string::npos);
  EXPECT_NE(as_written.text().find("; 2:4 activations"), std::string::npos) << as_written.text();
  EXPECT_NE(fastest.text().find("; activations whole"), std::string::npos) << fastest.text();
}

}  // namespace
}  // namespace twill
