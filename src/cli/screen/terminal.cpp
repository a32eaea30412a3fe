// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace twill::cli {

bool on_moving_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string bar(double share, int cells) {
  constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * cells * 8);
  std::string text;
  for (int cell = 0; cell < eighths / 8; ++cell) text += "█";
  text += kParts[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
  return text + std::string(static_cast<std::size_t>(cells - used), ' ');
}

std::string fitting(const std::vector<std::string>& fields, std::size_t width) {
  std::string line;
  for (const std::string& field : fields) {
    if (!line.empty() && line.size() + 2 + field.size() > width) break;
    line += (line.empty() ? "" : "  ") + field;
  }
  return line;
}

}  // namespace twill::cli
