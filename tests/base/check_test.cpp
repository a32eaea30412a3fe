// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <string>

#include <gtest/gtest.h>

#include "base/require.h"
#include "support/expect_error.h"

namespace twill {
namespace {

TEST(Check, NamesConditionPlaceAndContext) {
  EXPECT_NO_THROW(TWILL_CHECK(1 + 1 == 2, "arithmetic"));
  try {
    TWILL_CHECK(1 + 1 == 3, "arithmetic");
    FAIL() << "no exception";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("check_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("check failed: 1 + 1 == 3 (arithmetic)"), std::string::npos) << text;
  }
}

TEST(Require, FormatsTheMessage) {
  EXPECT_NO_THROW(require(true, "never shown {}", 1));
  expect_error([] { require(false, "[op] rows must be {}, got {}", 3, "none"); },
               "[op] rows must be 3, got none");
  expect_error([] { fail("no {} here", "luck"); }, "no luck here");
}

}  // namespace
}  // namespace twill
