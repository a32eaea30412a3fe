// SPDX-License-Identifier: Apache-2.0
#include "io/config/toml_limits.h"

#include <algorithm>
#include <cstdint>

#include "base/require.h"

namespace twill {
namespace {

// Until the first mistake of a text it must see the same strings and comments as the parser; what
// follows a mistake is parsed by nobody.
class TomlScan {
 public:
  TomlScan(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  void run() {
    while (at_ < text_.size()) step();
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '#') return skip_comment();
    ++at_;
    switch (c) {
      case '\n':
        dots_ = 0;
        return;
      case '.':
        ++dots_;
        return require_parts();
      case '[':
      case '{':
        dots_ = 0;
        ++depth_;
        return require_depth();
      case ']':
      case '}':
        depth_ = std::max(depth_ - 1, 0);
        return;
      case '=':
      case ',':
        dots_ = 0;
        return;
      default:
        return;
    }
  }

  void require_parts() const {
    require(dots_ < kMaxKeyParts, "{}: line {}: a key of more than {} parts", origin_, line(),
            kMaxKeyParts);
  }
  void require_depth() const {
    require(depth_ <= kMaxTomlDepth, "{}: line {}: lists and tables nested more than {} deep",
            origin_, line(), kMaxTomlDepth);
  }

  void skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void skip_string(char quote) {
    const char triple[] = {quote, quote, quote};
    const bool is_long = text_.substr(at_).starts_with(std::string_view(triple, 3));
    at_ += is_long ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (!is_long && c == '\n') return;  // a mistake: the string has no end
      if (is_long ? text_.substr(at_).starts_with(std::string_view(triple, 3)) : c == quote) break;
      at_ += c == '\\' && quote == '"' ? 2 : 1;
    }
    at_ = std::min(at_ + (is_long ? 3 : 1), text_.size());
    // Two quotes may stand in front of the closing three.
    for (int i = 0; is_long && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
  }

  std::int64_t line() const { return 1 + std::ranges::count(text_.substr(0, at_), '\n'); }

  std::string_view text_, origin_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int dots_ = 0;  // since the beginning of a key or value
};

}  // namespace

void require_toml_limits(std::string_view text, std::string_view origin) {
  require(text.size() <= kMaxTomlBytes, "{}: {} bytes are too many for TOML, expected at most {}",
          origin, text.size(), kMaxTomlBytes);
  TomlScan(text, origin).run();
}

}  // namespace twill
