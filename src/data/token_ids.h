// SPDX-License-Identifier: Apache-2.0
// The ids that data may hold, and the tokenizer that makes them of text where there is one: token
// shards need none to be trained on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/tokenizer.h"

namespace twill {

// data.tokenizer of shards whose tokenizer is nobody's business here.
inline constexpr const char* kNoTokenizer = "none";

struct TokenIds {
  TokenIds(const Tokenizer& of)  // NOLINT(google-explicit-constructor)
      : tokenizer(&of), size(of.vocab_size()) {}
  // The model's own vocabulary counts where there is no tokenizer.
  TokenIds(const Tokenizer* of, std::int64_t model_vocab)
      : tokenizer(of), size(of != nullptr ? of->vocab_size() : model_vocab) {}

  const Tokenizer* tokenizer;
  std::int64_t size;
};

// As open_tokenizer(); nullptr for kNoTokenizer.
std::unique_ptr<Tokenizer> open_tokenizer_if_any(const std::string& where);

// What a model's vocabulary must hold at least; 0 where there is no tokenizer.
inline std::int64_t vocab_size_of(const Tokenizer* tokenizer) {
  return tokenizer != nullptr ? tokenizer->vocab_size() : 0;
}

}  // namespace twill
