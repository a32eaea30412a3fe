// SPDX-License-Identifier: Apache-2.0
// Texts to a folder of shards:
//
//   train_000001.bin …  val_000000.bin …   llm.c shards
//   tokenizer/                             the tokenizer's files, where it has any
//   manifest.json                          written last
//
// Documents are encoded in the order of the texts and kept in .spool/ (data/shards/spool.h), then
// written to shards in a shuffled order. A process killed at any moment is started again with the
// same arguments and goes on; the result is the same to the byte, whatever the number of threads.
// It takes disk space for the tokens twice while it works, and 32 bytes of memory per document.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/shards/manifest.h"
#include "data/tokenizer.h"

namespace twill {

struct PrepareOptions {
  std::vector<std::string> texts;  // files, folders, globs, "-" or "builtin"
  std::string out;
  double validation = 0.005;  // share of documents, drawn one by one
  std::int64_t seed = 1;
  bool keep_order = false;
  std::string text_key = "text";
  std::int64_t shard_tokens = 100'000'000;
  int threads = 0;
  std::int64_t batch_bytes = std::int64_t{1}
                             << 25;  // text encoded at once; decides the spool files
};

struct PrepareProgress {
  bool writing = false;         // false: encoding; true: writing the shards
  std::int64_t done_bytes = 0;  // of the files as they lie on disk
  std::int64_t total_bytes = 0;
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int64_t reused_tokens = 0;  // found from an earlier start
};

struct PrepareResult {
  Manifest manifest;
  bool was_prepared = false;  // there was nothing to do
};

// Throws twill::Error, among others when the folder was begun with other arguments.
PrepareResult prepare_shards(const PrepareOptions& options, const Tokenizer& tokenizer,
                             const std::function<void(const PrepareProgress&)>& progress);

// The tokenizer that a prepared folder was made with: its tokenizer/ folder, or "byte".
std::string prepared_tokenizer(const std::string& folder);

// In [0, 1): a document validates when its draw is below the share asked for. `index` counts the
// documents in the order of the texts.
double split_draw(std::int64_t seed, std::int64_t index);

}  // namespace twill
