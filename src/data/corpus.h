// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "data/mixed_windows.h"
#include "data/token_ids.h"

namespace twill {

// [[data.source]]: one part of a weighted mix.
struct DataSource {
  std::string path;
  double weight = 1.0;

  void fields(FieldVisitor& visit);
};

// [data]
struct DataConfig {
  std::vector<std::string> train = {"builtin"};
  std::vector<DataSource> source;
  std::vector<std::string> validation;
  double validation_fraction = 0.1;
  std::string text_key = "text";
  std::string tokenizer = "auto";
  std::string hash;

  void fields(FieldVisitor& visit);
};

// What one micro-batch takes from the stream.
struct BatchShape {
  std::int64_t micro_batch;
  std::int64_t sequence;  // T
};

struct Corpus {
  std::vector<TrainingSource> sources;  // one, unless data.source gives several
  TokenSequence validation;             // at least one window
  std::string hash;                     // of everything, hash_text() form
  // For people: where the validation part is from ("val.bin", "the last 10%"), and sentences about
  // the data that a person should read once.
  std::string validated_by;
  std::vector<std::string> notes;

  std::int64_t train_tokens() const;
};

// data.tokenizer; for "auto" that of the first folder made by `data prepare`, else "byte".
std::string data_tokenizer(const DataConfig& config);

// Loads the sources, encoding texts on `threads` threads (0: all cores). The validation part is
// data.validation, or what each source sets apart: a prepared folder its own shards, a folder with
// files named for validation those, anything else its last fraction. Throws twill::Error when something is missing or too short for one batch, when
// ids do not fit the tokenizer, or when config.hash is set and the data are others.
Corpus load_corpus(const DataConfig& config, const TokenIds& ids, const BatchShape& batch,
                   int threads = 0);
// With the tokenizer of data_tokenizer(), which is not kNoTokenizer.
Corpus load_corpus(const DataConfig& config, const BatchShape& batch);

// The validation part alone, for measuring a trained model; the hash is not compared.
TokenSequence load_validation(const DataConfig& config, const TokenIds& ids, std::int64_t sequence);

}  // namespace twill
