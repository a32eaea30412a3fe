// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/bpe/byte_level_bpe.h"
#include "data/tokenizers/words/word_cache.h"

namespace twill {

class ByteLevelEncoder final : public TokenEncoder {
 public:
  explicit ByteLevelEncoder(const ByteLevelBpe& tokenizer);
  void encode(std::string_view text, std::vector<std::int32_t>& ids) override;
  void encode_rest(std::string_view text, std::vector<std::int32_t>& ids) override;

 private:
  void encode_text(std::string_view text, bool is_start);
  void encode_piece(std::string_view text);
  void split_by_gpt2(std::string_view seen);
  void split_by_stage(std::string_view seen, std::size_t offset, std::size_t stage);
  void encode_word(std::string_view word);
  void append_symbols(std::string_view word);

  const ByteLevelBpe* tokenizer_;
  std::vector<SplitPattern::Matcher> matchers_;
  std::optional<Gpt2Splitter> splitter_;
  Merger merger_;
  WordCache cache_;
  std::string_view text_;  // whose words are encoded; what the pattern sees may be a copy
  std::string seen_;
  std::vector<std::int32_t> symbols_;
  std::vector<std::int32_t>* ids_ = nullptr;
};

}  // namespace twill
