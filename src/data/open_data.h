// SPDX-License-Identifier: Apache-2.0
// What [data] of a config names, opened: examples to learn from, examples to be judged by, and what is
// known of them. Nobody else knows which kinds of data there are: another one is a line in
// open_data.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/corpus.h"
#include "data/data.h"
#include "data/tokenizer.h"

namespace twill {

// How a run wants its data.
struct DataRequest {
  std::string_view kind = "windows";    // what the model reads (models/families.h)
  BatchShape batch = {1, 1};            // of a micro-batch
  std::uint64_t seed = 0;               // of the order
  std::int64_t validation_windows = 0;  // at most, evenly spread; 0: all
  std::int64_t model_vocab = 0;         // bounds the ids of data without a tokenizer
  int threads = 0;                      // that encode texts; 0: all cores
};

// One source of a mix.
struct DataSourceFacts {
  std::string name;
  std::int64_t tokens = 0;
  double share = 1.0;         // of the training examples
  std::int64_t examples = 0;  // of one epoch of its own
};

struct TrainingData {
  std::shared_ptr<const Data> train;
  std::shared_ptr<const Data> validation;  // may be absent: then nothing is evaluated
  std::string hash = {};                   // of everything, hash_text() form
  std::int64_t train_tokens = 0;
  std::int64_t validation_tokens = 0;
  std::vector<DataSourceFacts> sources = {};
  std::string validated_by = {};        // for people: where the validation part is from
  std::vector<std::string> notes = {};  // for people: what was noticed
};

struct ValidationData {
  std::shared_ptr<const Data> examples;
  std::int64_t tokens = 0;                 // in all examples
  std::optional<std::int64_t> bytes = {};  // that the targets stand for, where there is a tokenizer
};

// `tokenizer` is that of the data; nullptr where they have none. Throws twill::Error when something is
// missing or too short for one batch, when ids do not fit, or when config.hash is set and the data are
// others (load_corpus()).
TrainingData open_data(const DataConfig& config, const Tokenizer* tokenizer,
                       const DataRequest& request);
// The validation part alone, for measuring a trained model; the hash is not compared.
ValidationData open_validation(const DataConfig& config, const Tokenizer* tokenizer,
                               const DataRequest& request);

struct DataKind {
  std::string_view name;
  TrainingData (*open)(const DataConfig&, const Tokenizer*, const DataRequest&);
  ValidationData (*open_validation)(const DataConfig&, const Tokenizer*, const DataRequest&);
};
// A kind that a program brings along, before it opens data. One of the same name takes its place.
void add_data_kind(const DataKind& kind);

}  // namespace twill
