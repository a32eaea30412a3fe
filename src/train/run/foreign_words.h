// SPDX-License-Identifier: Apache-2.0
// Words that people bring along from nanoGPT, llm.c, PyTorch, Hugging Face and Keras, and the keys of
// Twill that mean the same. They are for messages alone: a config is written in Twill's own words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace twill {

struct ForeignWord {
  std::string_view word;  // small letters, with '_' between words
  std::string_view key;   // "optimizer.lr"
  std::string_view note;  // what one has to know besides, may be empty
};

std::span<const ForeignWord> foreign_words();

// `word` in any case, with '-' or '_': "batch-size", "n_layer".
std::optional<ForeignWord> find_foreign_word(std::string_view word);

// "optimizer.lr", "train.micro_batch (sequences at once; …)"; empty for a word that nobody uses.
std::string key_meant_by(std::string_view word);

}  // namespace twill
