// SPDX-License-Identifier: Apache-2.0
#include "papers/broken.h"

#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

namespace twill {
namespace {

// tools/break_ops.sh reads this list from the output: "breakage NAME FILTER".
TEST(Breakages, AreListed) {
  EXPECT_FALSE(breakages().empty());
  for (const Breakage& breakage : breakages())
    std::cout << "breakage " << breakage.name << ' ' << breakage.filter << '\n';
}

}  // namespace
}  // namespace twill
