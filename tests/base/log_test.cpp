// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace twill {
namespace {

TEST(Log, LinesReachTheSink) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  LogSink old =
      set_log_sink([&](LogLevel level, std::string_view line) { lines.emplace_back(level, line); });
  log_info("step 1");
  log_warning("disk nearly full");
  set_log_sink(std::move(old));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], (std::pair{LogLevel::kInfo, std::string("step 1")}));
  EXPECT_EQ(lines[1], (std::pair{LogLevel::kWarning, std::string("disk nearly full")}));
}

TEST(Log, ReplacingTheSinkReturnsTheOld) {
  int first = 0, second = 0;
  LogSink original = set_log_sink([&](LogLevel, std::string_view) { ++first; });
  LogSink counting = set_log_sink([&](LogLevel, std::string_view) { ++second; });
  log_info("to the second");
  set_log_sink(std::move(counting));
  log_info("to the first");
  set_log_sink(std::move(original));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(Log, DefaultWritesToStandardError) {
  testing::internal::CaptureStderr();
  log_info("hello");
  log_warning("careful");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hello\nwarning: careful\n");
}

}  // namespace
}  // namespace twill
