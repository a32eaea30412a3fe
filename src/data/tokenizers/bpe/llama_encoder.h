// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/bpe/llama_bpe.h"
#include "data/tokenizers/words/word_cache.h"

namespace twill {

class LlamaEncoder final : public TokenEncoder {
 public:
  explicit LlamaEncoder(const LlamaBpe& tokenizer)
      : tokenizer_(&tokenizer), merger_(tokenizer.table()) {}
  void encode(std::string_view text, std::vector<std::int32_t>& ids) override;
  void encode_rest(std::string_view text, std::vector<std::int32_t>& ids) override;

 private:
  void encode_text(std::string_view text, bool is_start, std::vector<std::int32_t>& ids);
  std::string marked(std::string_view text, bool with_prefix) const;
  void split_words(std::string_view text);
  void encode_word(std::string_view word);
  void append_symbols(std::string_view word);

  const LlamaBpe* tokenizer_;
  Merger merger_;
  WordCache cache_;
  std::vector<std::int32_t> symbols_;
  std::vector<std::int32_t>* ids_ = nullptr;
};

}  // namespace twill
