// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/files/tiktoken_models.h"

#include <utility>

#include "data/tokenizers/bpe/byte_level_bpe.h"
#include "data/tokenizers/files/bpe_files.h"
#include "data/tokenizers/words/known_patterns.h"

namespace twill {
namespace {

std::string_view pattern_for(std::string_view file_name) {
  if (file_name.find("cl100k") != file_name.npos) return kCl100kPattern;
  return file_name.find("o200k") != file_name.npos ? kO200kPattern : kGpt2Pattern;
}

std::int64_t end_of_text_for(std::string_view file_name, std::int64_t num_ranks) {
  // Both leave one id free before it.
  const bool gap = pattern_for(file_name) != kGpt2Pattern;
  return gap ? num_ranks + 1 : num_ranks;
}

}  // namespace

std::unique_ptr<Tokenizer> tiktoken_tokenizer(std::string_view text, std::string_view file_name) {
  TiktokenRanks ranks = parse_tiktoken(text);
  TokenizerParts parts;
  BpeModel model;
  model.merges = std::move(ranks.merges);
  model.ignore_merges = true;  // tiktoken looks a word up whole before it joins anything
  const std::int64_t end = end_of_text_for(file_name, ranks.vocabulary.size());
  parts.vocabulary = std::move(ranks.vocabulary);
  parts.added.push_back({.content = "<|endoftext|>", .id = static_cast<std::int32_t>(end)});
  ByteLevelOptions options;
  options.stages.push_back({SplitPattern(pattern_for(file_name))});
  return std::make_unique<ByteLevelBpe>(std::move(parts), std::move(model), std::move(options));
}

}  // namespace twill
