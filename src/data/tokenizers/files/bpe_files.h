// SPDX-License-Identifier: Apache-2.0
// The small files that BPE tokenizers come in. Each function reads one text and throws twill::Error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/bpe/merges.h"
#include "data/tokenizers/vocabulary.h"
#include "io/json/json_value.h"

namespace twill {

// vocab.json, encoder.json: {"token": id, …}.
Vocabulary parse_vocab_json(std::string_view text);
// The object itself, as it stands in tokenizer.json too.
Vocabulary vocabulary_of(const JsonValue& object);

struct MergeText {
  std::string left;
  std::string right;
};
// merges.txt, vocab.bpe: "left right" per line, perhaps behind "#version: 0.2".
std::vector<MergeText> parse_merges(std::string_view text);
// Every merge must join two tokens of the vocabulary into a third.
std::vector<MergeRule> resolve_merges(const std::vector<MergeText>& merges,
                                      const Vocabulary& vocabulary);

// tiktoken ranks: base64 of the bytes, a space, the rank. Tokens are in byte characters.
struct TiktokenRanks {
  Vocabulary vocabulary;
  std::vector<MergeRule> merges;
};
TiktokenRanks parse_tiktoken(std::string_view text);

// The one pair that makes each token, when whichever neighbours join into the token of lowest
// `order` do so first. Tokens that no pair makes get none. `symbols` cuts a token into what BPE
// starts from. Ordered by `order`; linear in the tokens, quadratic in a token's length.
struct DeriveArgs {
  const Vocabulary& vocabulary;
  const std::vector<std::int32_t>& order;  // ids, the first joined first
  std::vector<std::string> (*symbols)(std::string_view token);
};
std::vector<MergeRule> derive_merges(const DeriveArgs& args);

// Longer tokens of a file without merges are refused: what deriving costs grows with their square.
inline constexpr std::size_t kMaxDerivedToken = 512;  // bytes; cl100k's longest has 128

}  // namespace twill
