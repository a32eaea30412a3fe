// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/text_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace twill::cli {
namespace {

std::int64_t bytes_in(const std::vector<MemoryLine>& table, const std::string& region) {
  const auto found = std::ranges::find(table, region, &MemoryLine::region);
  return found == table.end() ? 0 : found->bytes;
}

}  // namespace

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

std::string format_memory(const std::vector<MemoryLine>& table,
                          const std::vector<MemoryLine>& dense) {
  std::vector<MemoryLine> lines = table;
  for (const MemoryLine& line : dense)
    if (bytes_in(table, line.region) == 0) lines.push_back({line.region, 0});
  std::string text;
  std::int64_t sum = 0, added = 0, saved = 0;
  const auto add = [&](const std::string& region, std::int64_t bytes, std::int64_t change) {
    text += fmt::format("  {:<20}{:>12}", region, format_bytes(bytes));
    const std::string size =
        fmt::format("{}{}", change > 0 ? '+' : '-', format_bytes(std::abs(change)));
    if (change != 0) text += fmt::format("{:>16}", size);
    text += "\n";
  };
  for (const MemoryLine& line : lines) {
    const std::int64_t change = dense.empty() ? 0 : line.bytes - bytes_in(dense, line.region);
    add(line.region, line.bytes, change);
    sum += line.bytes;
    (change > 0 ? added : saved) += std::abs(change);
  }
  add("in all", sum, added - saved);
  if (dense.empty()) return fmt::format("memory\n{}", text);
  const auto amount = [](std::int64_t bytes) {
    return bytes > 0 ? format_bytes(bytes) : std::string("nothing");
  };
  return fmt::format("{:<34}{:>16}\n{}  against dense: {} added, {} saved\n", "memory",
                     "against dense", text, amount(added), amount(saved));
}

}  // namespace twill::cli
