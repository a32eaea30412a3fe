// SPDX-License-Identifier: Apache-2.0
// What a run of the suite found, and how it is told.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twill::runner {

enum class Status { kPassed, kFailed, kSkipped };

struct Result {
  std::string name;
  Status status = Status::kPassed;
  double seconds = 0.0;
  double cpu_seconds = 0.0;
  std::string text = {};  // why it was skipped, or what a failed one printed
};

// One line of a list of tests: a pattern of the shell (*, ?) and why it stands there.
struct Pattern {
  std::string glob;
  std::string why;
};

// "PATTERN | WHY" per line; empty lines and those that begin with # are passed over. Throws
// std::runtime_error for a line without a why.
std::vector<Pattern> parse_patterns(std::string_view text, std::string_view path);
bool matches_any(const std::vector<Pattern>& patterns, const std::string& text);
// The patterns that match none of the texts: what they stood for is gone.
std::vector<std::string> dead_patterns(const std::vector<Pattern>& patterns,
                                       const std::vector<std::string>& texts);

struct Report {
  std::string text;
  bool is_good = false;
};

// The skipped tests by their reasons, the slowest twenty, the failed ones, and as the last line
// "N passed, N failed, N skipped". `allowed` is matched against "NAME: REASON"; with `must_allow` a
// skip that it does not hold is a fault.
Report report(const std::vector<Result>& results, const std::vector<Pattern>& allowed,
              bool must_allow);

}  // namespace twill::runner
