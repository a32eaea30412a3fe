// SPDX-License-Identifier: Apache-2.0
#include "runner/results.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

namespace twill::runner {
namespace {

constexpr std::size_t kSlowest = 20;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return std::string(trimmed(text));
}

std::vector<Result> with_status(const std::vector<Result>& results, Status status) {
  std::vector<Result> chosen;
  std::ranges::copy_if(results, std::back_inserter(chosen),
                       [&](const Result& result) { return result.status == status; });
  std::ranges::sort(chosen, {}, &Result::name);
  return chosen;
}

bool matches(const Pattern& pattern, const std::string& text) {
  return ::fnmatch(pattern.glob.c_str(), text.c_str(), 0) == 0;
}

// Every skipped test stands under its reason; returns how many are not allowed.
std::size_t tell_skipped(const std::vector<Result>& skipped, const std::vector<Pattern>& allowed,
                         std::string& text) {
  std::map<std::string, std::vector<const Result*>> by_reason;
  for (const Result& result : skipped) by_reason[one_line(result.text)].push_back(&result);
  std::size_t not_allowed = 0;
  if (!skipped.empty()) text += "skipped:\n";
  for (const auto& [reason, tests] : by_reason) {
    text += fmt::format("  {} ({})\n", reason.empty() ? "no reason given" : reason, tests.size());
    for (const Result* test : tests) {
      const bool is_allowed = matches_any(allowed, test->name + ": " + reason);
      not_allowed += !is_allowed;
      text +=
          fmt::format("    {}{}\n", test->name, is_allowed ? "" : "  (not on the allowed list)");
    }
  }
  return not_allowed;
}

void tell_slowest(std::vector<Result> results, std::string& text) {
  std::ranges::stable_sort(results, std::greater{}, &Result::seconds);
  results.resize(std::min(results.size(), kSlowest));
  text += fmt::format("the slowest {}:\n  seconds      cpu  test\n", results.size());
  for (const Result& result : results)
    text +=
        fmt::format("  {:7.2f}  {:7.2f}  {}\n", result.seconds, result.cpu_seconds, result.name);
}

}  // namespace

std::vector<Pattern> parse_patterns(std::string_view text, std::string_view path) {
  std::vector<Pattern> patterns;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t bar = line.find(" | ");
    if (bar == std::string_view::npos)
      throw std::runtime_error(fmt::format("{}:{}: expected PATTERN | WHY", path, number));
    patterns.push_back(
        {std::string(trimmed(line.substr(0, bar))), std::string(trimmed(line.substr(bar + 3)))});
  }
  return patterns;
}

bool matches_any(const std::vector<Pattern>& patterns, const std::string& text) {
  return std::ranges::any_of(patterns,
                             [&](const Pattern& pattern) { return matches(pattern, text); });
}

std::vector<std::string> dead_patterns(const std::vector<Pattern>& patterns,
                                       const std::vector<std::string>& texts) {
  std::vector<std::string> dead;
  for (const Pattern& pattern : patterns)
    if (std::ranges::none_of(texts, [&](const auto& text) { return matches(pattern, text); }))
      dead.push_back(pattern.glob);
  return dead;
}

Report report(const std::vector<Result>& results, const std::vector<Pattern>& allowed,
              bool must_allow) {
  const std::vector<Result> skipped = with_status(results, Status::kSkipped);
  const std::vector<Result> failed = with_status(results, Status::kFailed);
  Report told;
  const std::size_t not_allowed = tell_skipped(skipped, allowed, told.text);
  tell_slowest(results, told.text);
  if (!failed.empty()) told.text += "failed:\n";
  for (const Result& result : failed) told.text += fmt::format("  {}\n", result.name);
  if (must_allow && not_allowed > 0)
    told.text +=
        fmt::format("{} skipped without leave: tests/allowed_skips.txt lists what may be skipped\n",
                    not_allowed);
  told.text +=
      fmt::format("{} passed, {} failed, {} skipped\n",
                  results.size() - failed.size() - skipped.size(), failed.size(), skipped.size());
  told.is_good = failed.empty() && !(must_allow && not_allowed > 0);
  return told;
}

}  // namespace twill::runner
