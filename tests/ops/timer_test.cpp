// SPDX-License-Identifier: Apache-2.0
#include "ops/timer.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "ops/numbers/fill.h"
#include "tensor/tensor.h"

namespace twill {
namespace {

TEST(Timer, TheHostsClockTimesEveryStretchOnce) {
  const Context context(reference_table(), 1);
  const std::unique_ptr<Timer> timer = open_timer(context);
  EXPECT_TRUE(timer->take().empty());
  for (const int milliseconds : {1, 12}) {
    timer->start();
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    timer->stop();
  }
  const std::vector<double> seconds = timer->take();
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_GE(seconds[0], 0.001);
  EXPECT_GE(seconds[1], 0.012);
  EXPECT_TRUE(timer->take().empty()) << "taken once";
}

// A device that counts: what the table offers is what is used.
class Counter final : public Timer {
 public:
  void start() override { ++starts_; }
  void stop() override {}
  std::vector<double> take() override { return std::vector<double>(starts_, 0.5); }

 private:
  std::size_t starts_ = 0;
};

TEST(Timer, TheDevicesOwnClockIsPreferred) {
  KernelTable table = reference_table();
  table.open_timer = [](Queue&) -> std::unique_ptr<Timer> { return std::make_unique<Counter>(); };
  const Context context(table, 1);
  const std::unique_ptr<Timer> timer = open_timer(context);
  timer->start();
  timer->stop();
  EXPECT_EQ(timer->take(), std::vector<double>{0.5});
}

// 512 MB of writes take longer than 512 B of them, and a timer that was read can be used again.
TEST(Timer, OfAGpuTellsMoreWorkFromLess) {
  Device device;
  if (cuda_table() == nullptr || !cuda_table()->find_device(0, device).usable)
    GTEST_SKIP() << "no GPU";
  const Context context(*cuda_table(), 1);
  Tensor large(DType::kF32, {1 << 27}, context.memory());
  const std::unique_ptr<Timer> timer = open_timer(context);
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t count : {std::int64_t{128}, large.view().num_elements()}) {
      timer->start();
      fill(context, {.x = large.view().slice(0, count), .value = 1.0});
      timer->stop();
    }
    const std::vector<double> seconds = timer->take();
    ASSERT_EQ(seconds.size(), 2u);
    EXPECT_GT(seconds[0], 0.0);
    EXPECT_GT(seconds[1], 10e-6) << "51 TB/s are beyond any memory";
    // The first round also loads the kernel, in the small fill.
    if (round == 1) {
      EXPECT_GT(seconds[1], seconds[0]);
    }
  }
}

}  // namespace
}  // namespace twill
