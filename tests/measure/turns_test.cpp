// SPDX-License-Identifier: Apache-2.0
#include "measure/turns.h"

#include <string>

#include <gtest/gtest.h>

namespace twill {
namespace {

TEST(Turns, WarmUpAlternateAndStop) {
  const Context context(cpu_table(), 1);
  std::string order;
  const auto seconds = time_in_turns(context, {[&] { order += 'a'; }, [&] { order += 'b'; }},
                                     {.fewest = 2, .most = 3, .seconds = 0.0});
  EXPECT_EQ(order, "ababab");
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_EQ(seconds[0].size(), 2u);
  EXPECT_EQ(seconds[1].size(), 2u);
}

}  // namespace
}  // namespace twill
