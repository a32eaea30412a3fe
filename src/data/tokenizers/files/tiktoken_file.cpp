// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>

#include "base/require.h"
#include "data/tokenizers/bpe/byte_level.h"
#include "data/tokenizers/files/bpe_files.h"

namespace twill {
namespace {

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

std::string from_base64(std::string_view text, std::int64_t line) {
  require(!text.empty() && text.size() % 4 == 0, "line {}: '{}' is not base64", line, text);
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int value = i >= text.size() - padding ? 0 : base64_value(text[i]);
    require(value >= 0, "line {}: '{}' is not base64", line, text);
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift & 0xFF);
    bits = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

std::int64_t number_of(std::string_view word, std::int64_t line) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  require(error == std::errc{} && end == word.data() + word.size(), "line {}: '{}' is not a rank",
          line, word);
  return value;
}

std::vector<std::string> byte_symbols(std::string_view token) {
  const std::string bytes = *from_byte_characters(token);
  std::vector<std::string> symbols;
  for (const char byte : bytes)
    symbols.push_back(byte_characters()[static_cast<unsigned char>(byte)]);
  return symbols;
}

}  // namespace

TiktokenRanks parse_tiktoken(std::string_view text) {
  TiktokenRanks ranks;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    require(space != line.npos, "line {}: expected base64, a space and a rank, got '{}'", number,
            line);
    const std::string bytes = from_base64(line.substr(0, space), number);
    require(bytes.size() <= kMaxDerivedToken, "line {}: a token of {} bytes, expected at most {}",
            number, bytes.size(), kMaxDerivedToken);
    ranks.vocabulary.add(to_byte_characters(bytes), number_of(line.substr(space + 1), number));
  }
  require(!ranks.vocabulary.empty(), "the file has no ranks");
  std::vector<std::int32_t> order;
  for (std::int32_t id = 0; id < ranks.vocabulary.size(); ++id)
    if (ranks.vocabulary.token(id) != nullptr) order.push_back(id);
  ranks.merges = derive_merges({ranks.vocabulary, order, byte_symbols});
  return ranks;
}

}  // namespace twill
