// SPDX-License-Identifier: Apache-2.0
// One sink for everything a person reads while work goes on. Library code does not print: it logs.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace twill {

enum class LogLevel { kInfo, kWarning };

using LogSink = std::function<void(LogLevel, std::string_view line)>;

// Replaces the sink and returns the old one. The default writes lines to standard error.
LogSink set_log_sink(LogSink sink);

void log_info(std::string_view line);
void log_warning(std::string_view line);

}  // namespace twill
