// SPDX-License-Identifier: Apache-2.0
// What every tokenizer read from files has in common.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "data/tokenizers/added_tokens.h"
#include "data/tokenizers/bpe/merges.h"
#include "data/tokenizers/vocabulary.h"

namespace twill {

struct TokenizerParts {
  Vocabulary vocabulary;  // the model's own tokens
  std::vector<AddedToken> added;
  // Kept as read, when they are what Hugging Face loads; otherwise made anew by files().
  std::vector<TokenizerFile> kept_files;
};

// The BPE part, whatever the symbols are.
struct BpeModel {
  std::vector<MergeRule> merges;
  std::optional<std::int32_t> unknown;  // for what has no token
  bool fuse_unknown = false;            // several in a row become one
  bool byte_fallback = false;           // <0x0A> in place of what has no token
  bool ignore_merges = false;           // a word that is a token is taken whole
};

class FileTokenizer : public Tokenizer {
 public:
  // Added tokens that the vocabulary knows take its ids. Throws twill::Error.
  explicit FileTokenizer(TokenizerParts parts);

  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(texts_.size()); }
  std::optional<std::int32_t> end_of_text() const override { return end_of_text_; }
  std::optional<std::int32_t> begin_of_text() const override { return begin_of_text_; }
  std::vector<TokenizerFile> files() const override;

  const Vocabulary& vocabulary() const { return parts_.vocabulary; }
  const std::vector<AddedToken>& added() const { return parts_.added; }
  // Tokens found in the text as it is, and those found after the normalizer.
  const AddedTokenFinder& raw_tokens() const { return raw_tokens_; }
  const AddedTokenFinder& normalized_tokens() const { return normalized_tokens_; }

 protected:
  virtual std::vector<TokenizerFile> make_files() const = 0;
  // As the file spells it; throws twill::Error for an id outside the vocabulary.
  const std::string& text_of(std::int32_t id) const;
  bool is_added(std::int32_t id) const { return is_added_[static_cast<std::size_t>(id)]; }
  bool is_special(std::int32_t id) const { return is_special_[static_cast<std::size_t>(id)]; }
  // For normalizers that change the added tokens too.
  void set_normalized_tokens(const std::vector<AddedToken>& tokens);

 private:
  std::optional<std::int32_t> first_of(std::initializer_list<std::string_view> names) const;

  TokenizerParts parts_;
  AddedTokenFinder raw_tokens_;
  AddedTokenFinder normalized_tokens_;
  std::vector<const std::string*> texts_;
  std::vector<bool> is_added_;
  std::vector<bool> is_special_;
  std::optional<std::int32_t> end_of_text_;
  std::optional<std::int32_t> begin_of_text_;
};

}  // namespace twill
