// SPDX-License-Identifier: Apache-2.0
// Writes llm.c shards: filled one after the other up to a number of tokens, so a document may begin
// in one and end in the next, as llm.c's own scripts cut them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/shards/manifest.h"
#include "io/atomic_file.h"

namespace twill {

class ShardWriter {
 public:
  // Files are `folder`/`stem`_000000.bin and so on, from `first` up.
  ShardWriter(std::string folder, std::string stem, int first, int width,
              std::int64_t shard_tokens);

  // The tokens of one document as bytes of the shard's width.
  void add_document(std::string_view tokens);
  // Ends the last shard and says what was written. Without it the last shard does not appear.
  std::vector<ManifestShard> finish();

 private:
  void begin_shard();
  void flush();
  void end_shard();

  std::string folder_;
  std::string stem_;
  int number_;
  int width_;
  std::int64_t shard_tokens_;
  std::unique_ptr<AtomicFile> file_;
  std::string pending_;  // not written yet: short documents would take a system call each
  std::vector<ManifestShard> shards_;
};

// Writes all tokens of one file at once, for tests and small shards.
void write_llmc_shard(const std::string& path, const std::vector<std::int32_t>& ids, int width);

}  // namespace twill
