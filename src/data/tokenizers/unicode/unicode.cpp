// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/unicode/unicode.h"

#include <cstdlib>
#include <memory>

#include <utf8proc.h>

#include "base/require.h"
#include "data/tokenizers/unicode/unicode_versions.h"
#include "data/tokenizers/unicode/utf8.h"

namespace twill {
namespace {

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
         (c >= 123 && c <= 126);
}

std::string mapped(std::string_view text, utf8proc_option_t options) {
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &out, options);
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(out, std::free);
  require(size >= 0, "cannot normalise a text of {} bytes: {}", text.size(), utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(size)};
}

}  // namespace

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_word_character(char32_t c) {
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0x200C || c == 0x200D;
  }
}

bool is_bert_control(char32_t c) {
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
      return c != '\t' && c != '\n' && c != '\r' && !is_in(c, kNotControl);
    default:
      return false;
  }
}

bool is_bert_punctuation(char32_t c) {
  if (c < 0x80) return is_ascii_punctuation(c);
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return !is_in(c, kNotPunctuation);
    default:
      return is_in(c, kOldPunctuation);
  }
}

bool is_nonspacing_mark(char32_t c) {
  if (c == 0x1734) return true;  // spacing since Unicode 14
  return category_of(c) == UTF8PROC_CATEGORY_MN && !is_in(c, kNotMark);
}

// The blocks BERT puts spaces around; not Hangul, Hiragana or Katakana.
bool is_cjk(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::string canonical_decomposition(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    if (c.value >= 0x800 && is_in(c.value, kNotReordered)) {
      out += mapped(text.substr(done, at - done), UTF8PROC_DECOMPOSE);
      out += text.substr(at, c.bytes);
      done = at + c.bytes;
    }
    at += c.bytes;
  }
  return out += mapped(text.substr(done), UTF8PROC_DECOMPOSE);
}

std::string canonical_composition(std::string_view text) { return mapped(text, UTF8PROC_COMPOSE); }

void append_lower_case(std::string& text, char32_t c) {
  if (c == 0x130) {  // the one character with a lower-case form of two: i and a dot above
    text += "i\xCC\x87";
    return;
  }
  for (const CaseRange& range : kNewLowerCase) {
    if (c < range.first || c > range.last) continue;
    const int from_first = static_cast<int>(c - range.first);
    if (from_first % range.step != 0) continue;
    append_utf8(text, static_cast<char32_t>(static_cast<int>(c) + range.offset));
    return;
  }
  append_utf8(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

}  // namespace twill
