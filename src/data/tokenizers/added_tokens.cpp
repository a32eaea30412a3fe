// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "data/tokenizers/unicode/unicode.h"
#include "data/tokenizers/unicode/utf8.h"

namespace twill {
namespace {

std::size_t skip_spaces_back(std::string_view text, std::size_t at, std::size_t least) {
  while (at > least) {
    const std::size_t before = utf8_before(text, at);
    if (before < least || !is_white_space(utf8_at(text, before).value)) break;
    at = before;
  }
  return at;
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const Utf8Char c = utf8_at(text, at);
    if (!is_white_space(c.value)) break;
    at += c.bytes;
  }
  return at;
}

bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0 && is_word_character(utf8_at(text, utf8_before(text, begin)).value)) return true;
  return end < text.size() && is_word_character(utf8_at(text, end).value);
}

bool has_space(std::string_view content) {
  for (std::size_t at = 0; at < content.size();) {
    const Utf8Char c = utf8_at(content, at);
    if (is_white_space(c.value)) return true;
    at += c.bytes;
  }
  return false;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens) : tokens_(tokens) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  bool one_first_byte = !tokens_.empty();
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    by_content_.emplace(token.content, i);
    std::vector<std::size_t>& lengths = lengths_[static_cast<unsigned char>(token.content[0])];
    if (std::ranges::find(lengths, token.content.size()) == lengths.end())
      lengths.push_back(token.content.size());
    if (has_space(token.content) || token.rstrip) uncuttable_.push_back(i);
    one_first_byte = one_first_byte && token.content[0] == tokens_[0].content[0];
  }
  for (std::vector<std::size_t>& lengths : lengths_) std::ranges::sort(lengths, std::greater{});
  if (one_first_byte) only_first_byte_ = static_cast<unsigned char>(tokens_[0].content[0]);
}

AddedTokenFinder::Found AddedTokenFinder::find(std::string_view text, std::size_t from) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (only_first_byte_ >= 0) {
      const void* next = std::memchr(text.data() + at, only_first_byte_, text.size() - at);
      if (next == nullptr) break;
      at = static_cast<std::size_t>(static_cast<const char*>(next) - text.data());
    }
    for (const std::size_t length : lengths_[static_cast<unsigned char>(text[at])]) {
      if (at + length > text.size()) continue;
      const auto known = by_content_.find(text.substr(at, length));
      if (known == by_content_.end()) continue;
      const AddedToken& token = tokens_[known->second];
      if (token.single_word && touches_word(text, at, at + length)) {
        at += length - 1;  // passed over whole, as an Aho-Corasick search does
        break;
      }
      return {token.lstrip ? skip_spaces_back(text, at, from) : at,
              token.rstrip ? skip_spaces(text, at + length) : at + length, token.id};
    }
  }
  return {text.size(), text.size(), -1};
}

bool AddedTokenFinder::may_cut(std::string_view text, std::size_t at) const {
  for (const std::size_t i : uncuttable_) {
    const std::string_view content = tokens_[i].content;
    const std::size_t first = at > content.size() ? at - content.size() : 0;
    for (std::size_t begin = first; begin < at; ++begin) {
      const std::string_view there = text.substr(begin, content.size());
      if (there == content.substr(0, there.size())) return false;
    }
  }
  return true;
}

}  // namespace twill
