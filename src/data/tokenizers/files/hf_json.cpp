// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/files/hf_json.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace twill {

JsonValue vocabulary_json(const Vocabulary& vocabulary) {
  JsonObject tokens;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id)
    if (const std::string* token = vocabulary.token(id)) tokens.emplace_back(*token, id);
  return tokens;
}

JsonValue merges_json(const Vocabulary& vocabulary, const std::vector<MergeRule>& merges) {
  JsonArray lines;
  for (const MergeRule& rule : merges)
    lines.emplace_back(*vocabulary.token(rule.left) + " " + *vocabulary.token(rule.right));
  return lines;
}

JsonValue added_tokens_json(const std::vector<AddedToken>& added) {
  std::vector<AddedToken> sorted = added;
  std::ranges::sort(sorted, {}, &AddedToken::id);
  JsonArray list;
  for (const AddedToken& token : sorted)
    list.emplace_back(JsonObject{{"id", std::int64_t{token.id}},
                                 {"content", token.content},
                                 {"single_word", token.single_word},
                                 {"lstrip", token.lstrip},
                                 {"rstrip", token.rstrip},
                                 {"normalized", token.normalized},
                                 {"special", token.special}});
  return list;
}

JsonValue bpe_model_json(const Vocabulary& vocabulary, const BpeModel& model) {
  return JsonObject{
      {"type", "BPE"},
      {"dropout", {}},
      {"unk_token", model.unknown ? JsonValue(*vocabulary.token(*model.unknown)) : JsonValue()},
      {"continuing_subword_prefix", {}},
      {"end_of_word_suffix", {}},
      {"fuse_unk", model.fuse_unknown},
      {"byte_fallback", model.byte_fallback},
      {"ignore_merges", model.ignore_merges},
      {"vocab", vocabulary_json(vocabulary)},
      {"merges", merges_json(vocabulary, model.merges)}};
}

TokenizerFile tokenizer_json_file(TokenizerJson parts) {
  JsonObject file{{"version", "1.0"}, {"truncation", {}}, {"padding", {}}};
  file.emplace_back("added_tokens", std::move(parts.added_tokens));
  file.emplace_back("normalizer", std::move(parts.normalizer));
  file.emplace_back("pre_tokenizer", std::move(parts.pre_tokenizer));
  file.emplace_back("post_processor", std::move(parts.post_processor));
  file.emplace_back("decoder", std::move(parts.decoder));
  file.emplace_back("model", std::move(parts.model));
  return {"tokenizer.json", to_json(file)};
}

JsonValue name_if_known(const std::vector<AddedToken>& added, std::string_view name) {
  const bool known = std::ranges::find(added, name, &AddedToken::content) != added.end();
  return known ? JsonValue(std::string(name)) : JsonValue();
}

}  // namespace twill
