// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/bpe/byte_level.h"

#include <cstddef>

#include "data/tokenizers/unicode/utf8.h"

namespace twill {
namespace {

struct Tables {
  std::array<std::string, 256> characters;
  std::array<unsigned char, 256> order{};
  std::array<int, 0x144> bytes{};  // by character; -1: none

  Tables() {
    bytes.fill(-1);
    std::size_t count = 0;
    const auto add = [&](int byte, char32_t character) {
      append_utf8(characters[static_cast<std::size_t>(byte)], character);
      bytes[character] = byte;
      order[count++] = static_cast<unsigned char>(byte);
    };
    for (int byte = 0; byte < 256; ++byte)
      if (is_printable(byte)) add(byte, static_cast<char32_t>(byte));
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte)
      if (!is_printable(byte)) add(byte, next++);
  }

  static bool is_printable(int byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
  }
};

const Tables& tables() {
  static const Tables only;
  return only;
}

}  // namespace

const std::array<std::string, 256>& byte_characters() { return tables().characters; }

const std::array<unsigned char, 256>& bytes_in_character_order() { return tables().order; }

std::string to_byte_characters(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += byte_characters()[static_cast<unsigned char>(byte)];
  return text;
}

std::optional<std::string> from_byte_characters(std::string_view token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const Utf8Char c = utf8_at(token, at);
    if (c.value >= tables().bytes.size() || tables().bytes[c.value] < 0) return std::nullopt;
    bytes += static_cast<char>(tables().bytes[c.value]);
    at += c.bytes;
  }
  return bytes;
}

}  // namespace twill
