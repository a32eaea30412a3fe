// SPDX-License-Identifier: Apache-2.0
// Pieces of tokenizer.json that several kinds share when it is written. Private to hf_*.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/file_tokenizer.h"
#include "io/json/json_value.h"

namespace twill {

// {"token": id, …} in the order of the ids.
JsonValue vocabulary_json(const Vocabulary& vocabulary);
// ["a b", …]
JsonValue merges_json(const Vocabulary& vocabulary, const std::vector<MergeRule>& merges);
JsonValue added_tokens_json(const std::vector<AddedToken>& added);
JsonValue bpe_model_json(const Vocabulary& vocabulary, const BpeModel& model);

struct TokenizerJson {
  JsonValue added_tokens;
  JsonValue normalizer;
  JsonValue pre_tokenizer;
  JsonValue post_processor;
  JsonValue decoder;
  JsonValue model;
};
TokenizerFile tokenizer_json_file(TokenizerJson parts);

// The name of the token when the tokenizer has it, else null.
JsonValue name_if_known(const std::vector<AddedToken>& added, std::string_view name);

}  // namespace twill
