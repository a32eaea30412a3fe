// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "data/token_windows.h"

namespace twill {

// [data]
struct DataConfig {
  std::vector<std::string> train = {"builtin"};
  std::vector<std::string> validation;
  double validation_fraction = 0.1;
  std::string tokenizer = "byte";
  std::string hash;

  void fields(FieldVisitor& visit);
};

// What one micro-batch takes from the stream.
struct BatchShape {
  std::int64_t micro_batch;
  std::int64_t sequence;  // T
};

struct Corpus {
  std::vector<Token> train;
  std::vector<Token> validation;  // at least one window
  std::string hash;               // of the raw bytes of both, hash_text() form
};

// Loads and tokenizes the texts. The validation part is the last fraction of the training text, or
// the files of data.validation. Throws twill::Error when a text is missing or too short for one
// batch, or when config.hash is set and the text is another one.
Corpus load_corpus(const DataConfig& config, const BatchShape& batch);

// The validation part alone, for measuring a trained model; the hash is not compared.
std::vector<Token> load_validation(const DataConfig& config, std::int64_t sequence);

}  // namespace twill
