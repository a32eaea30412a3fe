// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/wordpiece/wordpiece.h"
#include "data/tokenizers/words/word_cache.h"

namespace twill {

// Where words end whatever the options are: the normalizer makes a space of each of these four.
inline bool is_bert_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

class WordPieceEncoder final : public TokenEncoder {
 public:
  explicit WordPieceEncoder(const WordPiece& tokenizer) : tokenizer_(&tokenizer) {}
  void encode(std::string_view text, std::vector<std::int32_t>& ids) override;

 private:
  void encode_piece(std::string_view text);
  void encode_chunk(std::string_view chunk);
  void encode_normalized(std::string_view text);
  void encode_word(std::string_view word);

  const WordPiece* tokenizer_;
  WordCache cache_;
  std::vector<std::int32_t> found_;  // of the chunk at hand
  std::vector<std::int32_t>* ids_ = nullptr;
};

}  // namespace twill
