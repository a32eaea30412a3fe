// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/files/hf_files.h"
#include "data/tokenizers/files/hf_json.h"

namespace twill {
namespace {

JsonValue byte_level_json(bool add_prefix_space, bool use_regex) {
  return JsonObject{{"type", "ByteLevel"},
                    {"add_prefix_space", add_prefix_space},
                    {"trim_offsets", true},
                    {"use_regex", use_regex}};
}

JsonValue pre_tokenizer_json(const ByteLevelOptions& options, bool gpt2_pattern) {
  if (gpt2_pattern) return byte_level_json(options.add_prefix_space, true);
  JsonArray steps;
  for (const SplitStage& stage : options.stages)
    steps.emplace_back(JsonObject{{"type", "Split"},
                                  {"pattern", JsonObject{{"Regex", stage.pattern.expression()}}},
                                  {"behavior", stage.drop_gaps ? "Removed" : "Isolated"},
                                  {"invert", stage.drop_gaps}});
  steps.emplace_back(byte_level_json(options.add_prefix_space, false));
  return JsonObject{{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

std::string merges_text(const Vocabulary& vocabulary, const std::vector<MergeRule>& merges) {
  std::string text = "#version: 0.2\n";
  for (const MergeRule& rule : merges) {
    text += *vocabulary.token(rule.left);
    text += ' ';
    text += *vocabulary.token(rule.right);
    text += '\n';
  }
  return text;
}

std::string config_text(const std::vector<AddedToken>& added, const ByteLevelOptions& options,
                        bool gpt2_pattern) {
  const JsonValue end = name_if_known(added, kEndOfText);
  return to_json(
      JsonObject{{"add_prefix_space", options.add_prefix_space},
                 {"bos_token", end},
                 {"clean_up_tokenization_spaces", false},
                 {"eos_token", end},
                 {"tokenizer_class", gpt2_pattern ? "GPT2Tokenizer" : "PreTrainedTokenizerFast"},
                 {"unk_token", end}});
}

}  // namespace

std::vector<TokenizerFile> gpt2_files(const Vocabulary& vocabulary,
                                      const std::vector<AddedToken>& added, const BpeModel& model,
                                      const ByteLevelOptions& options) {
  const bool gpt2_pattern =
      options.stages.size() == 1 && options.stages[0].pattern.expression() == kGpt2Pattern;
  return {tokenizer_json_file({added_tokens_json(added),
                               {},
                               pre_tokenizer_json(options, gpt2_pattern),
                               byte_level_json(false, true),
                               byte_level_json(false, true),
                               bpe_model_json(vocabulary, model)}),
          {"tokenizer_config.json", config_text(added, options, gpt2_pattern)},
          {"vocab.json", to_json_line(vocabulary_json(vocabulary))},
          {"merges.txt", merges_text(vocabulary, model.merges)}};
}

}  // namespace twill
