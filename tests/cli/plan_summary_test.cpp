// SPDX-License-Identifier: Apache-2.0
// The arithmetic of `twill plan`, on entries whose times are round numbers.
#include <gtest/gtest.h>

#include "cli/planning/plan_report.h"
#include "cli/planning/plan_summary.h"

namespace twill::cli {
namespace {

// 10 + 10 + 10 ms dense; packed 6 + 8 ms, wgrad stays dense; upkeep 2 ms: 26 of 30 ms.
PlanEntry pattern_entry() {
  PlanEntry entry;
  entry.outputs = 2048;
  entry.inputs = 512;
  entry.layers = 4;
  entry.forward_below = entry.dgrad_below = 0.6;
  entry.density = 0.5;
  entry.dense = {.forward = 0.010, .dgrad = 0.010, .wgrad = 0.010};
  entry.packed = {.forward = 0.006, .dgrad = 0.008, .wgrad = 0.010};
  entry.upkeep = 0.002;
  return entry;
}

PlanEntry off_entry() {
  PlanEntry entry = pattern_entry();
  entry.outputs = 512;
  entry.inputs = 2048;
  entry.layers = 2;
  entry.upkeep = 0.020;
  entry.on = false;
  return entry;
}

TEST(PlanSummary, AnEntryOnGainsAndOneOffDoesNot) {
  const PlanEntry on = pattern_entry(), off = off_entry();
  EXPECT_EQ(state_of(on), LayerState::kPacked);
  EXPECT_EQ(state_of(off), LayerState::kOff);
  EXPECT_DOUBLE_EQ(seconds_if_on(on), 0.026);
  EXPECT_DOUBLE_EQ(seconds_if_on(on), on.seconds());
  EXPECT_DOUBLE_EQ(gain_of(on), 30.0 / 26.0);
  EXPECT_DOUBLE_EQ(gain_of(off), 1.0);
  EXPECT_DOUBLE_EQ(seconds_if_on(off), 0.044);
}

TEST(PlanSummary, NamesThePackedProducts) {
  PlanEntry entry = pattern_entry();
  EXPECT_EQ(packed_products(entry), "forward, dgrad");
  EXPECT_EQ(packed_products(off_entry()), "off");
  // Too dense now for what dgrad gains at.
  entry.dgrad_below = 0.25;
  EXPECT_EQ(packed_products(entry), "forward, dgrad below 0.25");
  entry.forward_below = entry.dgrad_below = 0.0;
  EXPECT_EQ(state_of(entry), LayerState::kMasked);
  EXPECT_EQ(packed_products(entry), "masked");
  entry.dgrad_selected = true;
  EXPECT_EQ(state_of(entry), LayerState::kPacked);
  EXPECT_EQ(packed_products(entry), "dgrad of activations");
}

// 6 ms of 2048 tokens are saved, upkeep is 2 ms: even at 2048 / 3 = 682.67 tokens.
TEST(PlanSummary, BreaksEvenWhereSavingsPayTheUpkeep) {
  PlanEntry entry = pattern_entry();
  EXPECT_EQ(break_even_tokens(entry, 2048), 683);
  // A layer that is off would pay in a larger batch: 20 ms of upkeep, 2048 · 20 / 6 = 6826.67.
  EXPECT_EQ(break_even_tokens(off_entry(), 2048), 6827);
  entry.upkeep = 0.0;
  EXPECT_EQ(break_even_tokens(entry, 2048), 1);
}

TEST(PlanSummary, NeverBreaksEvenWithoutSavings) {
  PlanEntry entry = pattern_entry();
  entry.forward_below = entry.dgrad_below = 0.0;
  EXPECT_FALSE(break_even_tokens(entry, 2048).has_value());
  PlanEntry unmeasured;
  EXPECT_FALSE(is_measured(unmeasured));
  EXPECT_FALSE(break_even_tokens(unmeasured, 2048).has_value());
  EXPECT_DOUBLE_EQ(gain_of(unmeasured), 1.0);
}

TEST(PlanSummary, AddsUpAPhase) {
  Plan plan;
  plan.layer = {pattern_entry(), off_entry()};
  PlanEntry later = pattern_entry();
  later.phase = 1;
  plan.layer.push_back(later);
  const std::vector<PhasePlan> phases = phase_plans(plan);
  ASSERT_EQ(phases.size(), 2u);
  const PhasePlan& first = phases.front();
  EXPECT_EQ(first.layers, 6);
  EXPECT_EQ(first.sparse, 4);
  EXPECT_EQ(layers_text(first), "4 of 6 matrices packed, 2 train dense");
  EXPECT_DOUBLE_EQ(first.dense_seconds, 6 * 0.030);
  EXPECT_DOUBLE_EQ(first.planned_seconds, 4 * 0.026 + 2 * 0.030);
  EXPECT_DOUBLE_EQ(first.product_gain(), 180.0 / 164.0);
  EXPECT_EQ(layers_text(phases.back()), "4 of 4 matrices packed");
}

// 16 ms of a dense step of 80 ms are saved.
TEST(PlanSummary, AStepGainsWhatItsProductsSave) {
  Plan plan;
  plan.layer = {pattern_entry()};
  const PhasePlan phase = phase_plans(plan).front();
  EXPECT_DOUBLE_EQ(phase.saved_seconds(), 0.016);
  EXPECT_DOUBLE_EQ(step_gain(phase, 0.080), 80.0 / 64.0);
  EXPECT_DOUBLE_EQ(step_gain(PhasePlan{}, 0.080), 1.0);
  EXPECT_DOUBLE_EQ(step_gain(phase, 0.080, 0.05), 80.0 / 68.0) << "84 ms of which 16 are saved";
}

TEST(PlanLines, SayThatClocksTurnedEverythingOff) {
  Plan plan;
  plan.execution = Execution::kAuto;
  plan.slowed_by_packed = 0.04;
  plan.layer = {off_entry()};
  EXPECT_EQ(plan_lines(plan).find("clocks"), std::string::npos) << "it gains nothing anyway";
  plan.slows_too_much = true;
  EXPECT_NE(plan_lines(plan).find("save less than the 4 % of everything"), std::string::npos)
      << plan_lines(plan);
}

TEST(PlanSummary, KnowsTheLastPackedPhase) {
  Plan plan;
  plan.layer = {pattern_entry(), off_entry()};
  EXPECT_TRUE(plan.is_packed_from(0));
  EXPECT_FALSE(plan.is_packed_from(1));
  PlanEntry later = pattern_entry();
  later.phase = 2;
  plan.layer.push_back(later);
  EXPECT_FALSE(plan.is_packed(1));
  EXPECT_TRUE(plan.is_packed_from(1));
  EXPECT_FALSE(plan.is_packed_from(3));
}

// Dense, packed, dense: 80 ms a dense step, of which 16 are saved and a twentieth is lost, from the first packed
// step on, and in the last phase only where a new process would not save enough.
TEST(PlanReport, ExpectsTheClocksThatPackedProductsCost) {
  PlanEntry packed = pattern_entry();
  packed.phase = 1;
  PlanReport report{.phases = {"dense", "2:4", "dense"},
                    .shares = {0.25, 0.5, 0.25},
                    .is_moving = {false, false, false},
                    .dense_step_seconds = 0.080,
                    .steps = 1000};
  report.plan.layer = {packed};
  report.plan.slowed_by_packed = 0.05;
  const auto expected = [&](double restart_saves) {
    report.restart_saves = restart_saves;
    return json_of(report).find("expected_run_gain")->number().value_or(0.0);
  };
  const double first = 0.25 * 80, second = 0.5 * (84 - 16), last = 0.25 * 80;
  EXPECT_NEAR(expected(0.5), 80 / (first + second + last), 1e-9) << "it saves 1 s";
  EXPECT_NEAR(expected(1.5), 80 / (first + second + 1.05 * last), 1e-9);
}

TEST(PlanSummary, ARunGainsByItsPhases) {
  // Half of the steps take half the time: 0.75 of the dense run.
  EXPECT_DOUBLE_EQ(run_gain({{.share = 0.5, .gain = 2.0}, {.share = 0.5, .gain = 1.0}}),
                   1.0 / 0.75);
  EXPECT_DOUBLE_EQ(run_gain({}), 1.0);
}

TEST(PlanLines, SayWhatIsPackedAndWhatIsOff) {
  Plan plan;
  plan.execution = Execution::kAuto;
  plan.layer = {pattern_entry(), off_entry()};
  EXPECT_EQ(
      plan_lines(plan),
      "plan     phase 0: 4 of 6 matrices packed, 2 train dense; expected gain of their products "
      "1.10\n"
      "           4 of 2048 x 512: packed forward, dgrad\n"
      "           2 of 512 x 2048: off\n");
  EXPECT_EQ(plan_lines(Plan()), "plan     masked: products multiply the zeros too\n");
}

TEST(PlanTable, ShowsCostsGainAndBreakEven) {
  PlanReport report;
  report.plan.tokens = 2048;
  report.plan.layer = {pattern_entry()};
  report.phases = {"2:4-transposable weights", "dense"};
  report.shares = {0.5, 0.5};
  report.is_moving = {false, false};
  report.dense_step_seconds = 0.080;
  const std::string table = plan_table(report);
  EXPECT_NE(
      table.find("4 of 4 matrices packed, expected gain of their products 1.15, of a step 1.25"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find(" 683  forward, dgrad\n"), std::string::npos) << table;
  // Half of it at 1.25: 1 / (0.5 / 1.25 + 0.5) = 1.11.
  EXPECT_NE(table.find("whole run         1.11 x    expected\n"), std::string::npos) << table;
  report.is_moving[0] = true;
  EXPECT_NE(plan_table(report).find("1.00 x    expected; phases of changing density"),
            std::string::npos);
}

// A named recipe that is slower than dense says so, by how much, and what else there is.
TEST(PlanReport, SaysBeforeTheFirstStepThatARecipeIsSlowerThanDense) {
  Plan plan;
  plan.execution = Execution::kAuto;
  PlanEntry entry;
  entry.outputs = 64;
  entry.inputs = 16;
  entry.layers = 2;
  entry.dense = {.forward = 1e-3, .dgrad = 1e-3, .wgrad = 1e-3};
  entry.packed = {.forward = 1e-3, .dgrad = 1e-3, .wgrad = 1e-3};
  entry.density = 0.5;
  entry.forward_below = 0.6;
  plan.layer = {entry};
  EXPECT_EQ(slower_text(plan), "");
  plan.layer[0].sampling = 1.5e-3;
  EXPECT_EQ(
      slower_text(plan),
      "slower   phase 0: as written these matrices take 1.50 times as long as dense\n"
      "         recipe.execution=fastest may train matrices dense, recipe=dense trains all so\n");
  EXPECT_NE(plan_lines(plan).find("1.50 times as long"), std::string::npos);
  plan.layer[0].forward_below = 0.0;
  EXPECT_NE(slower_text(plan).find("take at least 1.50 times"), std::string::npos);
  plan.layer[0].sampling = 0.0;
  EXPECT_NE(slower_text(plan).find("none of its products leaves zeros out here"),
            std::string::npos);
  plan.execution = Execution::kFastest;
  EXPECT_EQ(slower_text(plan), "");
}

}  // namespace
}  // namespace twill::cli
