// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/moving_line.h"

#include <fmt/format.h>

#include "cli/screen/terminal.h"

namespace twill::cli {

MovingLine::MovingLine() : terminal_(on_moving_terminal()) {}

void MovingLine::show(const std::string& text) {
  if (!terminal_) return;
  print("\r\033[K" + fitting({text}, terminal_width()));
  shown_ = true;
}

void MovingLine::show(const std::string& what, std::int64_t done, std::int64_t all) {
  const double share = static_cast<double>(done) / static_cast<double>(all > 0 ? all : 1);
  show(fmt::format("{}  {}/{} {}", what, done, all, bar(share, 10)));
}

void MovingLine::clear() {
  if (shown_) print("\r\033[K");
  shown_ = false;
}

}  // namespace twill::cli
