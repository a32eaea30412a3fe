// SPDX-License-Identifier: Apache-2.0
// One line that says how far some work is, and is gone when the work is done. Nothing at all where
// standard output is no terminal.
#pragma once

#include <cstdint>
#include <string>

namespace twill::cli {

class MovingLine {
 public:
  MovingLine();
  explicit MovingLine(bool terminal) : terminal_(terminal) {}
  ~MovingLine() { clear(); }
  MovingLine(const MovingLine&) = delete;
  MovingLine& operator=(const MovingLine&) = delete;

  void show(const std::string& text);
  // "measuring the plan  3/8 ████"
  void show(const std::string& what, std::int64_t done, std::int64_t all);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace twill::cli
