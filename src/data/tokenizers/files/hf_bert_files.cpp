// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "data/tokenizers/files/hf_files.h"
#include "data/tokenizers/files/hf_json.h"

namespace twill {
namespace {

JsonValue normalizer_json(const WordPieceOptions& options) {
  return JsonObject{{"type", "BertNormalizer"},
                    {"clean_text", options.clean_text},
                    {"handle_chinese_chars", options.space_cjk},
                    {"strip_accents", options.strip_accents},
                    {"lowercase", options.lower_case}};
}

// [CLS] text [SEP], where the vocabulary has both.
JsonValue bert_post_processor_json(const Vocabulary& vocabulary) {
  const auto begin = vocabulary.find("[CLS]");
  const auto end = vocabulary.find("[SEP]");
  if (!begin || !end) return {};
  return JsonObject{{"type", "BertProcessing"},
                    {"sep", JsonArray{"[SEP]", std::int64_t{*end}}},
                    {"cls", JsonArray{"[CLS]", std::int64_t{*begin}}}};
}

JsonValue model_json(const Vocabulary& vocabulary, const WordPieceOptions& options) {
  return JsonObject{{"type", "WordPiece"},
                    {"unk_token", options.unknown},
                    {"continuing_subword_prefix", options.prefix},
                    {"max_input_chars_per_word", options.max_chars},
                    {"vocab", vocabulary_json(vocabulary)}};
}

std::string config_text(const std::vector<AddedToken>& added, const WordPieceOptions& options) {
  return to_json(JsonObject{{"clean_up_tokenization_spaces", options.clean_up},
                            {"cls_token", name_if_known(added, "[CLS]")},
                            {"do_lower_case", options.lower_case},
                            {"mask_token", name_if_known(added, "[MASK]")},
                            {"pad_token", name_if_known(added, "[PAD]")},
                            {"sep_token", name_if_known(added, "[SEP]")},
                            {"strip_accents", options.strip_accents},
                            {"tokenize_chinese_chars", options.space_cjk},
                            {"tokenizer_class", "BertTokenizer"},
                            {"unk_token", options.unknown}});
}

}  // namespace

std::vector<TokenizerFile> bert_files(const Vocabulary& vocabulary,
                                      const std::vector<AddedToken>& added,
                                      const WordPieceOptions& options) {
  std::string lines;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) {
    if (const std::string* token = vocabulary.token(id)) lines += *token;
    lines += '\n';
  }
  const JsonObject decoder{
      {"type", "WordPiece"}, {"prefix", options.prefix}, {"cleanup", options.clean_up}};
  return {tokenizer_json_file({added_tokens_json(added), normalizer_json(options),
                               JsonObject{{"type", "BertPreTokenizer"}},
                               bert_post_processor_json(vocabulary), decoder,
                               model_json(vocabulary, options)}),
          {"tokenizer_config.json", config_text(added, options)},
          {"vocab.txt", lines}};
}

}  // namespace twill
