// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/stall_watch.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/require.h"
#include "io/error_text.h"
#include "io/temp_dir.h"
#include "train/run/checkpoint.h"
#include "train/run/training_run.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

constexpr std::int64_t kSteps = 1000;

using Curve = std::function<double(double share)>;

// The step of the alarm; 0: none.
std::int64_t alarm_of(const Curve& curve, double noise, std::uint64_t seed,
                      StallWatch watch = StallWatch({StallWatch::window_of(kSteps), 50, 1.0})) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0.0, 1.0);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    const double loss = curve(static_cast<double>(step) / kSteps) + noise * normal(random);
    if (const auto stall = watch.observe(step, 0, loss, 1.0)) return stall->step;
  }
  return 0;
}

double learning(double share) { return 2.5 + 3.0 * std::exp(-8.0 * share) - 0.3 * share; }
double stuck(double share) { return learning(std::min(share, 0.2)); }

TEST(StallWatch, NoticesARunThatStays) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::int64_t step = alarm_of(stuck, 0.1, seed);
    EXPECT_GE(step, 400);
    EXPECT_LE(step, 1000);
  }
  EXPECT_EQ(alarm_of(stuck, 0.0, 1), 500) << "three windows behind the last fall";
}

TEST(StallWatch, IsSilentWhileARunLearns) {
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    EXPECT_EQ(alarm_of(learning, 0.1, seed), 0) << seed;
}

TEST(StallWatch, ASpikeIsNoStall) {
  const Curve spiked = [](double share) {
    return learning(share) + (share > 0.7 && share < 0.72 ? 3.0 : 0.0);
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(alarm_of(spiked, 0.05, seed), 0);
}

TEST(StallWatch, APhaseBeginsAnewAndIsToldOnce) {
  StallWatch watch({50, 0, 1.0});
  int told = 0;
  for (std::int64_t step = 1; step <= 600; ++step) {
    const std::int64_t phase = step > 300 ? 1 : 0;
    const auto stall = watch.observe(step, phase, 3.0 + static_cast<double>(phase), 1.0);
    if (!stall) continue;
    ++told;
    EXPECT_TRUE(stall->step == 150 || stall->step == 450) << stall->step;
    EXPECT_EQ(stall->before, stall->now);
  }
  EXPECT_EQ(told, 2);
}

// At the end of a schedule good runs stand still.
TEST(StallWatch, LowLearningRatesAreNotJudged) {
  StallWatch watch({50, 0, 1e-3});
  for (std::int64_t step = 1; step <= 300; ++step)
    EXPECT_FALSE(watch.observe(step, 0, 3.0, 2.9e-4)) << step;
  std::int64_t told = 0;
  for (std::int64_t step = 301; step <= 400; ++step)
    if (const auto stall = watch.observe(step, 0, 3.0, 3.1e-4)) told = stall->step;
  EXPECT_EQ(told, 350);
}

TEST(StallWatch, OffAndShortRunsSayNothing) {
  EXPECT_EQ(alarm_of(stuck, 0.1, 1, StallWatch({0, 0, 1.0})), 0);
  StallWatch watch({StallWatch::window_of(140), 0, 1.0});
  for (std::int64_t step = 1; step <= 140; ++step) EXPECT_FALSE(watch.observe(step, 0, 3.0, 1.0));
}

// A resumed run judges as one that was never stopped.
TEST(StallWatch, StandsAfterAReplayWhereItStood) {
  const auto loss = [](std::int64_t step) {
    return 2.0 + 1.0 / static_cast<double>(std::min<std::int64_t>(step, 200));
  };
  for (const std::int64_t stop : {120, 349, 350, 499, 500, 501, 640}) {
    StallWatch whole({100, 20, 1.0}), first({100, 20, 1.0}), second({100, 20, 1.0});
    std::string metrics = "{\"step\":0,\"val_loss\":5.5}\n";
    std::vector<std::int64_t> expected, got;
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      if (whole.observe(step, 0, loss(step), 1.0)) expected.push_back(step);
      if (step == stop + 1) second.replay(metrics);
      StallWatch& part = step <= stop ? first : second;
      if (part.observe(step, 0, loss(step), 1.0)) got.push_back(step);
      metrics += fmt::format("{{\"step\":{},\"loss\":{},\"lr\":1}}\n", step, loss(step));
    }
    EXPECT_EQ(got, expected) << stop;
    EXPECT_EQ(expected.size(), 1u);
  }
}

struct AlarmListener : TrainingListener {
  void on_alarm(std::int64_t step, const std::string& what) override {
    steps.push_back(step);
    text = what;
  }
  std::vector<std::int64_t> steps;
  std::string text;
};

// Without a learning rate nothing is learnt.
TEST(StallAlarm, IsToldWrittenAndStops) {
  const TempDir dir;
  const std::atomic<bool> never{false};
  const auto train = [&](const std::string& name, const std::string& on_stall) {
    AlarmListener listener;
    const std::vector<std::string> settings = tiny_settings(
        {"run.dir=" + dir.path(), "run.name=" + name, "optimizer.lr=0", "train.steps=240",
         "health.stall_window=20", "health.on_stall=" + on_stall, "checkpoint.every=0"});
    const std::string error = error_text([&] {
      run_training({.config_file = "", .overrides = settings, .resume = ""}, listener, never);
      fail("done");
    });
    return std::pair(error, listener.steps);
  };
  const auto [warned, told] = train("w", "warn");
  EXPECT_EQ(warned, "done");
  ASSERT_EQ(told.size(), 1u);
  const std::string metrics = content_of(dir / "w/metrics.jsonl");
  EXPECT_NE(metrics.find("\"alarm\":\"loss stall\",\"window\":20"), std::string::npos);
  EXPECT_TRUE(train("o", "off").second.empty());
  const auto [stopped, steps] = train("s", "stop");
  EXPECT_EQ(steps, told);
  EXPECT_NE(stopped.find("and saved: go on with --resume " + dir.path() + "/s"), std::string::npos)
      << stopped;
  EXPECT_EQ(list_checkpoints(dir / "s/checkpoints").size(), 1u);
}

}  // namespace
}  // namespace twill
