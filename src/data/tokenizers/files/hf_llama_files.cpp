// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "data/tokenizers/bpe/llama_bpe.h"
#include "data/tokenizers/files/hf_files.h"
#include "data/tokenizers/files/hf_json.h"

namespace twill {
namespace {

JsonValue replace_json(const char* from, const std::string& to) {
  return JsonObject{
      {"type", "Replace"}, {"pattern", JsonObject{{"String", from}}}, {"content", to}};
}

JsonValue normalizer_json() {
  const std::string mark(kSpaceMark);
  return JsonObject{{"type", "Sequence"},
                    {"normalizers", JsonArray{JsonObject{{"type", "Prepend"}, {"prepend", mark}},
                                              replace_json(" ", mark)}}};
}

JsonValue decoder_json() {
  const std::string mark(kSpaceMark);
  return JsonObject{
      {"type", "Sequence"},
      {"decoders",
       JsonArray{replace_json(mark.c_str(), " "), JsonObject{{"type", "ByteFallback"}},
                 JsonObject{{"type", "Fuse"}},
                 JsonObject{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
}

JsonValue special_json(const char* name, int type) {
  return JsonObject{{"SpecialToken", JsonObject{{"id", name}, {"type_id", type}}}};
}

JsonValue sequence_json(const char* name, int type) {
  return JsonObject{{"Sequence", JsonObject{{"id", name}, {"type_id", type}}}};
}

// <s> in front, as LLaMA expects it.
JsonValue llama_post_processor_json(const Vocabulary& vocabulary) {
  const auto begin = vocabulary.find("<s>");
  if (!begin) return {};
  return JsonObject{
      {"type", "TemplateProcessing"},
      {"single", JsonArray{special_json("<s>", 0), sequence_json("A", 0)}},
      {"pair", JsonArray{special_json("<s>", 0), sequence_json("A", 0), special_json("<s>", 1),
                         sequence_json("B", 1)}},
      {"special_tokens", JsonObject{{"<s>", JsonObject{{"id", "<s>"},
                                                       {"ids", JsonArray{std::int64_t{*begin}}},
                                                       {"tokens", JsonArray{"<s>"}}}}}}};
}

}  // namespace

std::vector<TokenizerFile> llama_files(const Vocabulary& vocabulary,
                                       const std::vector<AddedToken>& added,
                                       const BpeModel& model) {
  const JsonObject config{{"add_bos_token", true},
                          {"add_eos_token", false},
                          {"bos_token", name_if_known(added, "<s>")},
                          {"clean_up_tokenization_spaces", false},
                          {"eos_token", name_if_known(added, "</s>")},
                          {"tokenizer_class", "PreTrainedTokenizerFast"},
                          {"unk_token", name_if_known(added, "<unk>")}};
  return {tokenizer_json_file({added_tokens_json(added),
                               normalizer_json(),
                               {},
                               llama_post_processor_json(vocabulary),
                               decoder_json(),
                               bpe_model_json(vocabulary, model)}),
          {"tokenizer_config.json", to_json(config)}};
}

}  // namespace twill
