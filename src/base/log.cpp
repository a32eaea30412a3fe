// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace twill {
namespace {

struct Log {
  std::mutex mutex;
  LogSink sink = [](LogLevel level, std::string_view line) {
    // fmt::print would throw where standard error takes no more, and end what only had a hint to give.
    const std::string whole =
        fmt::format("{}{}\n", level == LogLevel::kWarning ? "warning: " : "", line);
    std::fputs(whole.c_str(), stderr);
  };
};

Log& log() {
  static Log instance;
  return instance;
}

void write(LogLevel level, std::string_view line) {
  const std::lock_guard lock(log().mutex);
  log().sink(level, line);
}

}  // namespace

LogSink set_log_sink(LogSink sink) {
  const std::lock_guard lock(log().mutex);
  return std::exchange(log().sink, std::move(sink));
}

void log_info(std::string_view line) { write(LogLevel::kInfo, line); }
void log_warning(std::string_view line) { write(LogLevel::kWarning, line); }

}  // namespace twill
