// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>

#include "data/tokenizers/unicode/utf8.h"
#include "data/tokenizers/words/split_pattern.h"

namespace twill {
namespace {

enum Class : std::uint8_t { kSymbol, kLetter, kDigit, kSpace, kForeign };

constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const char lower = static_cast<char>(c | 0x20);
    auto& entry = classes[static_cast<std::size_t>(c)];
    if (c >= 0x80)
      entry = kForeign;
    else if (c == ' ' || (c >= '\t' && c <= '\r'))
      entry = kSpace;
    else if (c >= '0' && c <= '9')
      entry = kDigit;
    else if (c >= 'A' && lower >= 'a' && lower <= 'z')
      entry = kLetter;
    else
      entry = kSymbol;
  }
  return classes;
}();

std::uint8_t class_at(std::string_view text, std::size_t at) {
  return kClasses[static_cast<unsigned char>(text[at])];
}

std::size_t run_end(std::string_view text, std::size_t at, std::uint8_t kind) {
  while (at < text.size() && class_at(text, at) == kind) ++at;
  return at;
}

// 's, 't, 'm, 'd: 2; 're, 've, 'll: 3; else 0.
std::size_t contraction(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size()) return 0;
  const char a = text[at + 1];
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (at + 2 >= text.size()) return 0;
  const char b = text[at + 2];
  return (b == 'e' && (a == 'r' || a == 'v')) || (a == 'l' && b == 'l') ? 3 : 0;
}

// \s+(?!\S)|\s+: a run leaves its last character to the word that follows.
std::size_t space_match(std::string_view text, std::size_t at) {
  const std::size_t end = run_end(text, at, kSpace);
  if (end == text.size()) return end - at;
  if (class_at(text, end) == kForeign) return 0;
  return end - at > 1 ? end - at - 1 : 1;
}

}  // namespace

std::size_t gpt2_ascii_match(std::string_view text, std::size_t at) {
  if (text[at] == '\'')
    if (const std::size_t length = contraction(text, at)) return length;
  const std::size_t word = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
  const std::uint8_t kind = class_at(text, word);
  if (kind == kForeign) return 0;
  if (kind == kSpace) return space_match(text, at);
  const std::size_t end = run_end(text, word, kind);
  return end < text.size() && class_at(text, end) == kForeign ? 0 : end - at;
}

}  // namespace twill
