// SPDX-License-Identifier: Apache-2.0
// The folders that Hugging Face's tokenizers and transformers load, made from our own parts.
#pragma once

#include <vector>

#include "data/tokenizers/bpe/byte_level_bpe.h"
#include "data/tokenizers/file_tokenizer.h"
#include "data/tokenizers/wordpiece/wordpiece.h"

namespace twill {

// tokenizer.json, tokenizer_config.json, vocab.json, merges.txt.
std::vector<TokenizerFile> gpt2_files(const Vocabulary& vocabulary,
                                      const std::vector<AddedToken>& added, const BpeModel& model,
                                      const ByteLevelOptions& options);

// tokenizer.json, tokenizer_config.json. `model` puts a space in front and strips it again.
std::vector<TokenizerFile> llama_files(const Vocabulary& vocabulary,
                                       const std::vector<AddedToken>& added, const BpeModel& model);

// tokenizer.json, tokenizer_config.json, vocab.txt.
std::vector<TokenizerFile> bert_files(const Vocabulary& vocabulary,
                                      const std::vector<AddedToken>& added,
                                      const WordPieceOptions& options);

}  // namespace twill
