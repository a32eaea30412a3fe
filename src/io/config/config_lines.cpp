// SPDX-License-Identifier: Apache-2.0
#include "io/config/config_lines.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "io/config/field_list.h"

namespace twill {
namespace {

constexpr std::string_view kEquals = " = ";
constexpr const char* kNowhere = "(absent)";

using Lines = std::map<std::string, std::string, std::less<>>;

Lines parse_lines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t middle = line.find(kEquals);
    if (middle == std::string_view::npos) continue;
    lines.emplace(line.substr(0, middle), line.substr(middle + kEquals.size()));
  }
  return lines;
}

// "recipe.phase.0." of "recipe.phase.0.weights.pattern"; empty outside lists.
std::string_view entry_of(std::string_view path) {
  for (std::size_t dot = path.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = path.rfind('.', dot - 1)) {
    const std::size_t before = path.rfind('.', dot - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view word = path.substr(begin, dot - begin);
    if (std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; }))
      return path.substr(0, dot + 1);
  }
  return {};
}

bool has_entry(const Lines& lines, std::string_view entry) {
  const auto at = lines.lower_bound(entry);
  return at != lines.end() && at->first.starts_with(entry);
}

}  // namespace

std::string fixed_lines(const FieldWalk& walk, const std::vector<std::string>& also) {
  std::string text;
  for (const FieldRecord& field : list_fields(walk))
    if (field.kind == FieldRecord::Kind::kField &&
        (field.on_resume == OnResume::kFixed || std::ranges::count(also, field.path) > 0))
      text += fmt::format("{}{}{}\n", field.path, kEquals, field.value);
  return text;
}

std::vector<FieldDifference> differences_from(std::string_view text, const FieldWalk& walk) {
  Lines lines = parse_lines(text);
  const Lines all = lines;
  std::vector<FieldDifference> found;
  for (const FieldRecord& field : list_fields(walk)) {
    if (field.kind != FieldRecord::Kind::kField) continue;
    const auto line = lines.find(field.path);
    if (line != lines.end()) {
      if (line->second != field.value)
        found.push_back({field.path, line->second, field.value, field.on_resume});
      lines.erase(line);
    } else if (const std::string_view entry = entry_of(field.path);
               field.on_resume == OnResume::kFixed && !entry.empty() && !has_entry(all, entry)) {
      found.push_back({field.path, kNowhere, field.value, field.on_resume});
    }
  }
  for (const auto& [path, value] : lines)
    found.push_back({path, value, kNowhere, OnResume::kFixed});
  return found;
}

std::optional<std::string> value_in(std::string_view text, std::string_view key) {
  const Lines lines = parse_lines(text);
  const auto line = lines.find(key);
  return line == lines.end() ? std::nullopt : std::optional(line->second);
}

}  // namespace twill
