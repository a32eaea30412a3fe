// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/tokenizers/vocabulary.h"

namespace twill {

// Finds added tokens in a text: the leftmost, of those the longest, as Hugging Face does.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(const std::vector<AddedToken>& tokens);
  // Moved, not copied: by_content_ points into tokens_.
  AddedTokenFinder(AddedTokenFinder&&) = default;
  AddedTokenFinder& operator=(AddedTokenFinder&&) = default;

  bool empty() const { return tokens_.empty(); }

  struct Found {
    std::size_t begin;  // with what lstrip and rstrip take
    std::size_t end;
    std::int32_t id;  // -1: none; begin and end are then the text's size
  };
  // At or after `from`.
  Found find(std::string_view text, std::size_t from) const;

  // Calls piece(text) for what lies between the tokens and token(id) for each.
  template <class Piece, class Token>
  void split(std::string_view text, const Piece& piece, const Token& token) const {
    std::size_t at = 0;
    while (at < text.size()) {
      const Found found = empty() ? Found{text.size(), text.size(), -1} : find(text, at);
      if (found.begin > at) piece(text.substr(at, found.begin - at));
      if (found.id >= 0) token(found.id);
      at = found.end;
    }
  }

  // False when a cut before text[at] may fall into a token, or into what one takes with it.
  bool may_cut(std::string_view text, std::size_t at) const;

 private:
  // Of the tokens that begin with one byte: their lengths, longest first.
  std::array<std::vector<std::size_t>, 256> lengths_;
  std::unordered_map<std::string_view, std::size_t> by_content_;  // into tokens_
  std::vector<AddedToken> tokens_;
  std::vector<std::size_t> uncuttable_;  // tokens with white space inside, or rstrip
  int only_first_byte_ = -1;             // when all tokens begin with the same byte
};

}  // namespace twill
