// SPDX-License-Identifier: Apache-2.0
#include "measure/calls.h"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace twill {
namespace {

// The clock of a made-up device: stretches take what stands here, one after the other, then half a second.
std::vector<double> g_stretches;

class Clock final : public Timer {
 public:
  void start() override { ++started_; }
  void stop() override {}
  std::vector<double> take() override {
    std::vector<double> seconds;
    for (; started_ > 0; --started_) {
      seconds.push_back(g_stretches.empty() ? 0.5 : g_stretches.front());
      if (!g_stretches.empty()) g_stretches.erase(g_stretches.begin());
    }
    return seconds;
  }

 private:
  int started_ = 0;
};

class Calls : public testing::Test {
 protected:
  Calls() {
    g_stretches.clear();
    table_.open_timer = [](Queue&) -> std::unique_ptr<Timer> { return std::make_unique<Clock>(); };
  }
  double best(const CallLimits& limits) {
    calls_ = 0;
    return best_seconds(Context(table_, 1), limits, [&] { ++calls_; });
  }
  double steady(double enough, int most = 2000) {
    calls_ = 0;
    return steady_seconds(
        Context(table_, 1), enough, [&] { ++calls_; }, most);
  }

  KernelTable table_ = reference_table();
  int calls_ = 0;
};

TEST_F(Calls, TheBestIsTheShortestBehindOneThatWarms) {
  g_stretches = {3.0, 2.0, 4.0};
  EXPECT_EQ(best({.fewest = 3, .most = 3}), 2.0);
  EXPECT_EQ(calls_, 4);
}

// Half a second each.
TEST_F(Calls, TheBestIsOfMoreUntilTheyTookEnough) {
  best({.fewest = 2, .most = 9, .enough = 2.0});
  EXPECT_EQ(calls_, 1 + 4);
  best({.fewest = 2, .most = 3, .enough = 2.0});
  EXPECT_EQ(calls_, 1 + 3) << "at most";
  best({.fewest = 2, .most = 9, .enough = 0.0});
  EXPECT_EQ(calls_, 1 + 2) << "at least";
}

// A second's stretch has three calls, behind one that warms and one that tells how many.
TEST_F(Calls, ASteadyOneIsAShareOfAStretch) {
  EXPECT_DOUBLE_EQ(steady(1.0), 0.5 / 3);
  EXPECT_EQ(calls_, 5);
  EXPECT_DOUBLE_EQ(steady(4.0), 0.5 / 8);
  EXPECT_EQ(calls_, 10);
  EXPECT_DOUBLE_EQ(steady(4.0, 5), 0.5 / 5);
  EXPECT_EQ(calls_, 7) << "at most five in the stretch";
}

TEST(WallSeconds, AreThoseOfTheCall) {
  EXPECT_GE(wall_seconds([] { std::this_thread::sleep_for(std::chrono::milliseconds(12)); }),
            0.012);
}

}  // namespace
}  // namespace twill
