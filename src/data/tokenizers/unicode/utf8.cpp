// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/unicode/utf8.h"

#include <algorithm>
#include <cstring>

namespace twill {
namespace {

struct Lead {
  std::size_t bytes;  // 0: no character begins so
  unsigned char low;  // of the second byte
  unsigned char high;
};

Lead lead_of(unsigned char first) {
  if (first < 0x80) return {1, 0, 0};
  if (first >= 0xC2 && first <= 0xDF) return {2, 0x80, 0xBF};
  if (first == 0xE0) return {3, 0xA0, 0xBF};  // shorter forms exist below
  if (first == 0xED) return {3, 0x80, 0x9F};  // surrogates above
  if (first >= 0xE1 && first <= 0xEF) return {3, 0x80, 0xBF};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first == 0xF4) return {4, 0x80, 0x8F};  // beyond U+10FFFF above
  if (first >= 0xF1 && first <= 0xF3) return {4, 0x80, 0xBF};
  return {0, 0, 0};
}

// Bytes of the character at `at` that are there and fit; as many as its lead asks for when whole.
std::size_t fitting_bytes(std::string_view text, std::size_t at, const Lead& lead) {
  std::size_t count = 1;
  for (; count < lead.bytes && at + count < text.size(); ++count) {
    const auto byte = static_cast<unsigned char>(text[at + count]);
    const unsigned char low = count == 1 ? lead.low : 0x80;
    const unsigned char high = count == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) break;
  }
  return count;
}

}  // namespace

Utf8Char utf8_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1, true};
  const Lead lead = lead_of(first);
  if (lead.bytes == 0) return {kReplacement, 1, false};
  const std::size_t count = fitting_bytes(text, at, lead);
  if (count < lead.bytes) return {kReplacement, count, false};
  char32_t value = first & (0xFFu >> (lead.bytes + 1));
  for (std::size_t i = 1; i < count; ++i)
    value = value << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
  return {value, count, true};
}

std::size_t utf8_before(std::string_view text, std::size_t end) {
  for (std::size_t back = 1; back <= 4 && back <= end; ++back) {
    const Utf8Char c = utf8_at(text.substr(0, end), end - back);
    if (c.valid && c.bytes == back) return end - back;
  }
  return end - 1;
}

bool is_valid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080'8080'8080'8080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const Utf8Char c = utf8_at(text, at);
    if (!c.valid) return false;
    at += c.bytes;
  }
  return true;
}

std::size_t incomplete_utf8_at_end(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const std::size_t at = text.size() - back;
    const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
    if (lead.bytes > back && fitting_bytes(text, at, lead) == back) return back;
  }
  return 0;
}

void append_utf8(std::string& text, char32_t value) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | value >> 6);
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | value >> 12);
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | value >> 18);
    put(0x80 | (value >> 12 & 0x3F));
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

std::string with_valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    if (c.valid)
      valid.append(text, at, c.bytes);
    else
      append_utf8(valid, kReplacement);
    at += c.bytes;
  }
  return valid;
}

}  // namespace twill
