// SPDX-License-Identifier: Apache-2.0
// The three kinds of tokenizer.json. Private to tokenizer_json*.cpp.
#pragma once

#include <memory>

#include "data/tokenizers/file_tokenizer.h"
#include "data/tokenizers/files/bpe_files.h"
#include "io/json/json_value.h"

namespace twill {

std::unique_ptr<Tokenizer> byte_level_from_json(const JsonValue& file, TokenizerParts parts);
std::unique_ptr<Tokenizer> llama_from_json(const JsonValue& file, TokenizerParts parts);
std::unique_ptr<Tokenizer> wordpiece_from_json(const JsonValue& file, TokenizerParts parts);

// The part named "model" of a BPE.
BpeModel bpe_model_of(const JsonValue& model, const Vocabulary& vocabulary);

}  // namespace twill
