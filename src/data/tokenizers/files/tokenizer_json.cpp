// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/files/tokenizer_json.h"

#include "base/require.h"
#include "data/tokenizers/files/json_fields.h"
#include "data/tokenizers/files/tokenizer_json_kinds.h"

namespace twill {
namespace {

AddedToken added_token_of(const JsonValue& entry) {
  AddedToken token;
  token.content = text_at(entry, "content");
  const JsonValue* id = entry.find("id");
  require(id != nullptr && id->integer() != nullptr, "added token '{}' has no id", token.content);
  require(*id->integer() >= 0 && *id->integer() < kMaxTokenIds,
          "added token '{}' has the id {}, expected 0 to {}", token.content, *id->integer(),
          kMaxTokenIds - 1);
  token.id = static_cast<std::int32_t>(*id->integer());
  token.special = flag_at(entry, "special", false);
  token.normalized = flag_at(entry, "normalized", !token.special);
  token.lstrip = flag_at(entry, "lstrip", false);
  token.rstrip = flag_at(entry, "rstrip", false);
  token.single_word = flag_at(entry, "single_word", false);
  return token;
}

// Files of old versions do not name the type.
std::string model_type(const JsonValue& model) {
  if (model.find("type") != nullptr) return text_at(model, "type");
  if (model.find("merges") != nullptr) return "BPE";
  return model.find("max_input_chars_per_word") != nullptr ? "WordPiece" : "Unigram";
}

bool mentions_byte_level(const JsonValue* step) {
  if (step == nullptr || step->is_null()) return false;
  if (type_of(*step) == "ByteLevel") return true;
  for (const char* list : {"pretokenizers", "decoders"}) {
    const JsonValue* steps = step->find(list);
    if (steps == nullptr || steps->array() == nullptr) continue;
    for (const JsonValue& inner : *steps->array())
      if (mentions_byte_level(&inner)) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text,
                                                std::vector<TokenizerFile> kept_files) {
  const JsonValue file = parse_json_value(text);
  const JsonValue* model = file.find("model");
  require(model != nullptr && model->object() != nullptr,
          "not a tokenizer.json: it has no object \"model\"");
  const std::string type = model_type(*model);
  require(type == "BPE" || type == "WordPiece",
          "a tokenizer of type {} is not supported; supported are BPE and WordPiece", type);
  TokenizerParts parts;
  const JsonValue* vocabulary = model->find("vocab");
  require(vocabulary != nullptr, "the model has no vocabulary \"vocab\"");
  parts.vocabulary = vocabulary_of(*vocabulary);
  if (const JsonValue* added = file.find("added_tokens"); added != nullptr && !added->is_null()) {
    require(added->array() != nullptr, "added_tokens must be a list, got {}", added->kind());
    for (const JsonValue& entry : *added->array()) parts.added.push_back(added_token_of(entry));
  }
  parts.kept_files = std::move(kept_files);
  if (type == "WordPiece") return wordpiece_from_json(file, std::move(parts));
  if (mentions_byte_level(file.find("pre_tokenizer")))
    return byte_level_from_json(file, std::move(parts));
  return llama_from_json(file, std::move(parts));
}

}  // namespace twill
