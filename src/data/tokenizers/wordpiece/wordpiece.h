// SPDX-License-Identifier: Apache-2.0
// WordPiece as in bert-base-uncased: the text is cleaned, lower-cased and stripped of accents, cut
// at white space and around punctuation and CJK characters; each word becomes its longest pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/tokenizers/file_tokenizer.h"

namespace twill {

struct WordPieceOptions {
  bool clean_text = true;  // drops control characters
  bool space_cjk = true;
  bool strip_accents = true;
  bool lower_case = true;
  std::string unknown = "[UNK]";
  std::string prefix = "##";     // of a piece that goes on with a word
  std::int64_t max_chars = 100;  // a longer word is unknown
  bool clean_up = true;          // decode writes "it." and not "it ."
};

class WordPiece final : public FileTokenizer {
 public:
  WordPiece(TokenizerParts parts, WordPieceOptions options);

  std::string_view name() const override { return "wordpiece"; }
  std::unique_ptr<TokenEncoder> make_encoder() const override;
  // The words with a space between them: not the text that was encoded, but as near as it comes.
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::size_t find_cut(std::string_view text, std::size_t limit) const override;

  const WordPieceOptions& options() const { return options_; }
  std::int32_t unknown() const { return unknown_; }
  // With the prefix taken off: pieces that begin a word, and those that go on with one.
  const TokenMap& first_pieces() const { return first_pieces_; }
  const TokenMap& later_pieces() const { return later_pieces_; }
  std::size_t longest_piece() const { return longest_piece_; }

 protected:
  std::vector<TokenizerFile> make_files() const override;

 private:
  WordPieceOptions options_;
  std::int32_t unknown_;
  TokenMap first_pieces_;
  TokenMap later_pieces_;
  std::size_t longest_piece_ = 0;  // bytes
};

// vocab.txt: a token per line, the line's number is its id.
Vocabulary parse_wordpiece_vocab(std::string_view text);
std::unique_ptr<Tokenizer> wordpiece_tokenizer(std::string_view vocab_text);

// What the pieces are looked up in. The text is valid UTF-8.
std::string normalized(std::string_view text, const WordPieceOptions& options);

}  // namespace twill
