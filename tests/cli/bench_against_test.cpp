// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_against.h"

#include <gtest/gtest.h>

#include "train/tiny_run.h"

namespace twill::cli {
namespace {

// Steps by where they are taken: before and after the plan is made.
struct StepCounter : OpObserver {
  void before(std::string_view op) override { updates += op == "adamw"; }
  void after(std::string_view, const OpWork&) override {}
  void gemm(const GemmArgs&) override {}
  int updates = 0;
};

struct Measured {
  AgainstDense result;
  int updates_before_plan = 0;
};

Measured measure(const AgainstRequest& request) {
  TinyTrainer tiny({"recipe=fst", "recipe.execution=masked", "recipe.health.every=0"});
  tiny.config.recipe.phase.resize(1);
  StepCounter counter;
  tiny.context.observer = &counter;
  Measured measured;
  measured.result = measure_against_dense(
      tiny.context, tiny.config, tiny.data,
      [&] {
        measured.updates_before_plan = counter.updates;
        return Plan();
      },
      request);
  tiny.context.observer = nullptr;
  return measured;
}

// What a sparse product leaves behind would be in the time of dense steps otherwise.
TEST(AgainstDense, StepsOfDenseAloneComeBeforeThePlan) {
  const Measured alone = measure({.rounds = 2, .most_block_steps = 1, .alone_seconds = 0.02});
  EXPECT_GT(alone.updates_before_plan, 0);
  EXPECT_GT(alone.result.dense_alone_seconds, 0.0);
  EXPECT_GT(alone.result.recipe_alone_seconds, 0.0);
  EXPECT_NE(report_of(alone.result).find("gain alone"), std::string::npos);
  const Measured in_turns = measure({.rounds = 2, .most_block_steps = 1});
  EXPECT_EQ(in_turns.updates_before_plan, 0);
  EXPECT_EQ(report_of(in_turns.result).find("alone"), std::string::npos);
}

// New masks every 4 steps take 8 ms more: 2 ms a step.
TEST(AgainstDense, GainAloneCountsRareWork) {
  AgainstDense result{.recipe = "fst",
                      .phase = "",
                      .recipe_seconds = 0.1,
                      .rare = {.every = 4, .remainder = 0, .what = "new masks"},
                      .rare_seconds = 0.008};
  result.dense_alone_seconds = 0.102;
  result.recipe_alone_seconds = 0.1;
  EXPECT_DOUBLE_EQ(result.gain_alone(), 1.0);
}

}  // namespace
}  // namespace twill::cli
