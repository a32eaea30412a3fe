// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/require.h"
#include "data/tokenizers/bpe/byte_level_bpe.h"
#include "data/tokenizers/files/json_fields.h"
#include "data/tokenizers/files/tokenizer_json_kinds.h"

namespace twill {
namespace {

// "a b" in older files, ["a", "b"] in newer ones.
std::vector<MergeText> merge_texts(const JsonValue& model) {
  const JsonValue* list = model.find("merges");
  require(list != nullptr && list->array() != nullptr, "the model has no list \"merges\"");
  std::vector<MergeText> merges;
  for (const JsonValue& entry : *list->array()) {
    if (const std::string* line = entry.text()) {
      const std::size_t space = line->find(' ');
      require(space != line->npos && line->find(' ', space + 1) == line->npos,
              "merge {}: expected two tokens divided by one space, got '{}'", merges.size() + 1,
              *line);
      merges.push_back({line->substr(0, space), line->substr(space + 1)});
      continue;
    }
    const JsonArray* pair = entry.array();
    require(pair != nullptr && pair->size() == 2 && (*pair)[0].text() && (*pair)[1].text(),
            "merge {}: expected two tokens, got {}", merges.size() + 1, entry.kind());
    merges.push_back({*(*pair)[0].text(), *(*pair)[1].text()});
  }
  return merges;
}

SplitStage stage_of(const JsonValue& split) {
  const JsonValue* pattern = split.find("pattern");
  require(pattern != nullptr && pattern->find("Regex") != nullptr,
          "a Split needs a \"Regex\"; others are not supported");
  const std::string behavior = text_at(split, "behavior");
  const bool invert = flag_at(split, "invert", false);
  const bool isolated = behavior == "Isolated" && !invert;
  const bool matches_only = behavior == "Removed" && invert;
  require(isolated || matches_only,
          "a Split with behavior {}{} is not supported; supported are Isolated, and Removed with "
          "invert",
          behavior, invert ? " and invert" : "");
  return {SplitPattern(text_at(*pattern, "Regex")), matches_only};
}

void add_pre_tokenizer(const JsonValue& step, ByteLevelOptions& options) {
  const std::string type = type_of(step);
  if (type == "Split") {
    options.stages.push_back(stage_of(step));
  } else if (type == "Digits") {
    const bool each = flag_at(step, "individual_digits", false);
    options.stages.push_back({SplitPattern(each ? kDigitPattern : kDigitsPattern), false});
  } else if (type == "ByteLevel") {
    const bool prefix = flag_at(step, "add_prefix_space", true);
    require(!prefix || options.stages.empty(),
            "a ByteLevel with add_prefix_space behind another step is not supported");
    options.add_prefix_space = prefix;
    if (flag_at(step, "use_regex", true))
      options.stages.push_back({SplitPattern(kGpt2Pattern), false});
  } else {
    fail(
        "a pre-tokenizer of type {} beside ByteLevel is not supported; supported are Split and "
        "Digits",
        type);
  }
}

}  // namespace

BpeModel bpe_model_of(const JsonValue& model, const Vocabulary& vocabulary) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    require(text_or(model, key, "").empty(), "a BPE with \"{}\" is not supported", key);
  const JsonValue* dropout = model.find("dropout");
  require(dropout == nullptr || dropout->is_null() || dropout->number() == 0.0,
          "a BPE with dropout is not supported");
  BpeModel bpe;
  bpe.fuse_unknown = flag_at(model, "fuse_unk", false);
  bpe.byte_fallback = flag_at(model, "byte_fallback", false);
  bpe.ignore_merges = flag_at(model, "ignore_merges", false);
  const std::string unknown = text_or(model, "unk_token", "");
  if (!unknown.empty()) {
    bpe.unknown = vocabulary.find(unknown);
    require(bpe.unknown.has_value(), "the vocabulary has no unk_token '{}'", unknown);
  }
  bpe.merges = resolve_merges(merge_texts(model), vocabulary);
  return bpe;
}

std::unique_ptr<Tokenizer> byte_level_from_json(const JsonValue& file, TokenizerParts parts) {
  ByteLevelOptions options;
  for (const JsonValue* step : steps_of(file.find("normalizer"), "normalizers")) {
    require(type_of(*step) == "NFC",
            "a normalizer of type {} beside ByteLevel is not supported; supported is NFC",
            type_of(*step));
    options.compose = true;
  }
  for (const JsonValue* step : steps_of(file.find("pre_tokenizer"), "pretokenizers"))
    add_pre_tokenizer(*step, options);
  BpeModel model = bpe_model_of(*file.find("model"), parts.vocabulary);
  return std::make_unique<ByteLevelBpe>(std::move(parts), std::move(model), std::move(options));
}

}  // namespace twill
