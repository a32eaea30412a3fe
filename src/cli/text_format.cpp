// SPDX-License-Identifier: Apache-2.0
#include "cli/text_format.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace twill::cli {

std::string command_name() {
  const char* name = std::getenv("TWILL_COMMAND");
  return name != nullptr ? name : "twill";
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_count(double count) {
  constexpr std::array kUnits{"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (count >= 999.5 && unit + 1 < kUnits.size()) {
    count /= 1000.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", count) : fmt::format("{:.3g}{}", count, kUnits[unit]);
}

std::string format_duration(double seconds) {
  const auto total = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  const std::int64_t hours = total / 3600, minutes = total / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

std::string format_memory(const std::vector<MemoryLine>& table) {
  std::string text;
  std::int64_t sum = 0;
  for (const MemoryLine& line : table) {
    text += fmt::format("  {:<20}{:>12}\n", line.region, format_bytes(line.bytes));
    sum += line.bytes;
  }
  return text + fmt::format("  {:<20}{:>12}\n", "in all", format_bytes(sum));
}

}  // namespace twill::cli
