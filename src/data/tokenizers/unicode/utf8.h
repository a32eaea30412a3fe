// SPDX-License-Identifier: Apache-2.0
// UTF-8, read strictly: no surrogates, no overlong forms, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace twill {

inline constexpr char32_t kReplacement = 0xFFFD;

struct Utf8Char {
  char32_t value;     // kReplacement when not valid
  std::size_t bytes;  // of a valid character, or of the longest invalid sequence (Unicode 3.9)
  bool valid;
};

// The character at text[at]; `at` is inside the text.
Utf8Char utf8_at(std::string_view text, std::size_t at);
// The start of the character that ends at text[end - 1]; end - 1 where that is no valid one.
std::size_t utf8_before(std::string_view text, std::size_t end);

bool is_valid_utf8(std::string_view text);
// How many bytes at the end begin a character that may still be completed: 0 to 3.
std::size_t incomplete_utf8_at_end(std::string_view text);

void append_utf8(std::string& text, char32_t value);
// Each longest invalid sequence becomes one U+FFFD.
std::string with_valid_utf8(std::string_view text);

// 9 to 13 and 32: what Unicode calls white space among the ASCII characters.
inline bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
inline bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace twill
