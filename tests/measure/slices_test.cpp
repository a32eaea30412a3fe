// SPDX-License-Identifier: Apache-2.0
#include "measure/slices.h"

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace twill {
namespace {

TEST(Slices, WithoutTimeAreFiveCallsInTurn) {
  const Context context(cpu_table(), 1);
  std::string order;
  const auto seconds =
      time_in_slices(context, {[&] { order += 'a'; }, [&] { order += 'b'; }}, {.seconds = 0.0});
  EXPECT_EQ(order, "aabbababababab") << "a call that warms up, one that is timed, then the slices";
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_EQ(seconds[0].size(), 5u);
  EXPECT_EQ(seconds[1].size(), 5u);
}

TEST(Slices, FillSlicesWithShortCallsAndSettleFirst) {
  const Context context(cpu_table(), 1);
  std::string order;
  const auto spend = [&](char name, int milliseconds) {
    order += name;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  };
  const auto seconds = time_in_slices(context, {[&] { spend('a', 2); }, [&] { spend('b', 20); }},
                                      {.seconds = 0.1, .slice_seconds = 0.01});
  ASSERT_EQ(seconds[0].size(), 10u) << "0.1 s in slices of 0.01 s";
  for (const double time : seconds[0])
    EXPECT_GE(time, 0.002) << "seconds of a call, not of a slice";
  for (const double time : seconds[1]) EXPECT_GE(time, 0.020);
  // A slice of the short one has several calls, of the long one just one; behind the first calls at
  // least 0.05 s have passed before the ten that count.
  EXPECT_NE(order.find("aab"), std::string::npos);
  EXPECT_EQ(order.find("bb", 4), std::string::npos);
  EXPECT_GT(std::count(order.begin(), order.end(), 'b'), 2 + 10);
}

}  // namespace
}  // namespace twill
