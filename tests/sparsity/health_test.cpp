// SPDX-License-Identifier: Apache-2.0
#include "sparsity/account/health.h"

#include <gtest/gtest.h>

#include "sparsity/recipe/phase_clock.h"
#include "support/expect_error.h"

namespace twill {
namespace {

FlipAlarm alarm_of_1000_steps() {
  FlipAlarm alarm;
  alarm.begin_phase(100, 1100);
  return alarm;
}

bool explodes(FlipAlarm& alarm, std::int64_t step, double rate) {
  return alarm.observe(step, rate).starts_with("flip-rate explosion");
}

TEST(FlipAlarm, ThreeRisesAboveTwiceTheEarlyPeakExplode) {
  FlipAlarm alarm = alarm_of_1000_steps();
  EXPECT_EQ(alarm.observe(100, 0.1), "");
  EXPECT_EQ(alarm.observe(200, 0.05), "") << "still the first tenth: the peak is 0.1";
  EXPECT_EQ(alarm.observe(240, 0.15), "");
  EXPECT_EQ(alarm.observe(280, 0.19), "");
  EXPECT_EQ(alarm.observe(320, 0.2), "") << "three rises, but not above twice the peak";
  EXPECT_TRUE(explodes(alarm, 360, 0.21));
  EXPECT_EQ(alarm.observe(400, 0.5), "") << "told once";
  alarm.begin_phase(1100, 2100);
  alarm.observe(1100, 0.1);
  for (const std::int64_t step : {1300, 1340})
    EXPECT_FALSE(explodes(alarm, step, 1e-3 * static_cast<double>(step)));
  EXPECT_TRUE(explodes(alarm, 1380, 2.0)) << "once per phase";
}

TEST(FlipAlarm, TwoRisesAreNoExplosion) {
  FlipAlarm alarm = alarm_of_1000_steps();
  alarm.observe(100, 0.1);
  EXPECT_FALSE(explodes(alarm, 300, 0.3));
  EXPECT_FALSE(explodes(alarm, 340, 0.4));
  EXPECT_FALSE(explodes(alarm, 380, 0.4)) << "a standstill is no rise";
  EXPECT_FALSE(explodes(alarm, 420, 0.5));
  EXPECT_FALSE(explodes(alarm, 460, 0.6));
  EXPECT_TRUE(explodes(alarm, 500, 0.7));
}

TEST(FlipAlarm, RisesInTheFirstTenthDoNotCount) {
  FlipAlarm alarm = alarm_of_1000_steps();
  for (const std::int64_t step : {100, 130, 160, 200})
    EXPECT_FALSE(explodes(alarm, step, 1e-3 * static_cast<double>(step)));
  EXPECT_FALSE(explodes(alarm, 240, 0.45)) << "one rise";
}

TEST(FlipAlarm, WithoutAnEarlySampleTheFirstIsThePeak) {
  FlipAlarm alarm = alarm_of_1000_steps();
  EXPECT_FALSE(explodes(alarm, 300, 0.1));
  EXPECT_FALSE(explodes(alarm, 400, 0.11));
  EXPECT_FALSE(explodes(alarm, 500, 0.12));
  EXPECT_FALSE(explodes(alarm, 600, 0.13)) << "far below twice the first";
  EXPECT_TRUE(explodes(alarm, 700, 0.21));
}

TEST(FlipAlarm, NoFlipsBeforeHalfThePhaseIsACollapse) {
  FlipAlarm alarm = alarm_of_1000_steps();
  EXPECT_EQ(alarm.observe(100, 0.1), "");
  EXPECT_TRUE(alarm.observe(599, 0.0).starts_with("flip-rate collapse"));
  EXPECT_EQ(alarm.observe(599, 0.0), "") << "told once";
  FlipAlarm late = alarm_of_1000_steps();
  EXPECT_EQ(late.observe(600, 0.0), "") << "half the phase is over";
  FlipAlarm warming = alarm_of_1000_steps();
  EXPECT_EQ(warming.observe(150, 0.0), "") << "the first tenth: the learning rate warms up";
}

TEST(FlipAlarm, SavedAndRestoredItGoesOnTheSame) {
  FlipAlarm alarm = alarm_of_1000_steps(), restored;
  alarm.observe(100, 0.1);
  alarm.observe(300, 0.3);
  alarm.observe(340, 0.4);
  restored.restore(alarm.save());
  EXPECT_EQ(restored.save(), alarm.save());
  EXPECT_TRUE(explodes(restored, 380, 0.5));
  alarm.restore(restored.save());
  EXPECT_FALSE(explodes(alarm, 420, 0.6)) << "told before it was saved";
  expect_error([&] { restored.restore("1 2"); }, "state of the flip-rate alarm is damaged: '1 2'");
}

RecipeConfig three_phases() {
  RecipeConfig recipe;
  recipe.phase.resize(3);
  recipe.phase[0].until = "0.2";
  recipe.phase[1].until = "60 steps";
  return recipe;
}

TEST(PhaseClock, MovesOnAtTheEnds) {
  PhaseClock clock(three_phases(), {.steps = 100});
  EXPECT_EQ(clock.index(), -1);
  std::vector<std::int64_t> entered;
  for (std::int64_t step = 0; step < 100; ++step)
    if (clock.advance_to(step)) entered.push_back(step);
  EXPECT_EQ(entered, (std::vector<std::int64_t>{0, 20, 60}));
  EXPECT_EQ(clock.begin(), 60);
  EXPECT_EQ(clock.end(), 100);
  EXPECT_FALSE(clock.advance_to(500)) << "the last phase never ends";
}

TEST(PhaseClock, KnowsThePhasesAhead) {
  PhaseClock clock(three_phases(), {.steps = 100});
  EXPECT_EQ(clock.phase_at(0), 0);
  EXPECT_EQ(clock.phase_at(19), 0);
  EXPECT_EQ(clock.phase_at(20), 1);
  EXPECT_EQ(clock.phase_at(99), 2);
  EXPECT_EQ(clock.begin_of(1), 20);
  EXPECT_EQ(clock.end_of(1), 60);
}

TEST(PhaseClock, AnEarlyEndMovesTheNextBegin) {
  PhaseClock clock(three_phases(), {.steps = 100});
  clock.advance_to(5);
  EXPECT_EQ(clock.early_end(), -1);
  clock.end_early(7);
  EXPECT_EQ(clock.early_end(), 7);
  EXPECT_EQ(clock.index(), 0);
  EXPECT_FALSE(clock.advance_to(6));
  EXPECT_TRUE(clock.advance_to(7));
  EXPECT_EQ(clock.index(), 1);
  EXPECT_EQ(clock.begin(), 7);
  EXPECT_EQ(clock.end(), 60);
  EXPECT_EQ(clock.early_end(), -1);
  clock.advance_to(70);
  clock.end_early(80);
  EXPECT_EQ(clock.end(), 100) << "nothing follows the last phase";
}

TEST(PhaseClock, RestoresWhereItStood) {
  PhaseClock clock(three_phases(), {.steps = 100});
  clock.restore(0, 0, 7);  // saved between an early end and the next step
  EXPECT_TRUE(clock.advance_to(7));
  EXPECT_EQ(clock.begin(), 7);
  PhaseClock later(three_phases(), {.steps = 100});
  later.restore(1, 7, -1);
  EXPECT_FALSE(later.advance_to(8));
  EXPECT_EQ(later.begin(), 7);
  EXPECT_EQ(later.begin_of(1), 7);
  EXPECT_EQ(later.end(), 60);
  expect_error([&] { later.restore(3, 0, -1); }, "phase 3 is not one of the recipe's 3");
}

// A fraction of the run follows train.steps when a resumed run changes it.
TEST(PhaseClock, RestoredIntoALongerRunEndsFollowIt) {
  PhaseClock clock(three_phases(), {.steps = 200});
  clock.restore(0, 0, -1);
  EXPECT_EQ(clock.end(), 40);
}

}  // namespace
}  // namespace twill
