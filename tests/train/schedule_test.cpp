// SPDX-License-Identifier: Apache-2.0
#include "train/step/schedule.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

ScheduleConfig schedule(const char* kind) {
  ScheduleConfig config;
  config.kind = kind;
  config.warmup_steps = 10;
  config.min_lr = 0.1;
  config.decay_fraction = 0.2;
  return config;
}

TEST(Schedule, WarmsUpFromZeroToThePeak) {
  for (const char* kind : {"cosine", "linear", "wsd", "constant"}) {
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 2.0, 1, 100), 0.2);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 2.0, 10, 100), 2.0);
  }
}

TEST(Schedule, EndsAtTheLowestRate) {
  for (const char* kind : {"cosine", "linear", "wsd"})
    EXPECT_NEAR(learning_rate(schedule(kind), 2.0, 100, 100), 0.2, 1e-12) << kind;
  EXPECT_EQ(learning_rate(schedule("constant"), 2.0, 100, 100), 2.0);
}

TEST(Schedule, HasItsShapeBetween) {
  // Halfway from step 10 to 100 the cosine and the line have both come half the way down.
  EXPECT_NEAR(learning_rate(schedule("cosine"), 2.0, 55, 100), 1.1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule("linear"), 2.0, 55, 100), 1.1, 1e-12);
  // A quarter of the way the cosine is still near its peak: 0.2 + 0.9 (1 + cos 45°).
  EXPECT_NEAR(learning_rate(schedule("cosine"), 2.0, 10 + 90 / 4, 100), 1.7457, 2e-2);
  EXPECT_EQ(learning_rate(schedule("wsd"), 2.0, 80, 100), 2.0);
  EXPECT_NEAR(learning_rate(schedule("wsd"), 2.0, 90, 100), 1.1, 1e-12);
}

TEST(Schedule, WsdWithoutDecayStaysAtThePeak) {
  ScheduleConfig config = schedule("wsd");
  config.decay_fraction = 0.0;
  for (const std::int64_t step : {10, 50, 100})
    EXPECT_EQ(learning_rate(config, 2.0, step, 100), 2.0) << step;
}

TEST(Schedule, SurvivesDegenerateLengths) {
  ScheduleConfig config = schedule("cosine");
  EXPECT_DOUBLE_EQ(learning_rate(config, 2.0, 5, 5), 1.0);  // the run ends inside the warm-up
  config.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate(config, 2.0, 1, 1), 0.2);
}

}  // namespace
}  // namespace twill
