// SPDX-License-Identifier: Apache-2.0
// A file of tokens made by `twill data prepare`, llm.c, nanoGPT, Megatron or llm.q: mapped, read
// only, checked when it is opened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/shards/shard_header.h"
#include "data/token_sequence.h"
#include "io/mapped_file.h"

namespace twill {

enum class ShardFormat { kLlmc, kNanoGpt, kMegatron, kBinTok };

std::string_view name_of(ShardFormat format);  // "llm.c", "nanoGPT", …

// What kind of token file this is; empty when it looks like none, so that it is a text. A file
// without a known header counts as nanoGPT's when its name ends in .bin. Throws for what is
// recognised but holds no tokens, such as weights of llm.c.
std::optional<ShardFormat> recognise_shard(const std::string& path);

class TokenShard {
 public:
  // The .bin file; for Megatron the .idx file lies beside it. Throws twill::Error.
  static std::shared_ptr<const TokenShard> open(const std::string& path);

  const std::string& path() const { return path_; }
  ShardFormat format() const { return format_; }
  const ShardLayout& layout() const { return layout_; }
  std::int64_t size() const { return layout_.count; }
  // Where documents begin, in tokens; empty when the format does not say.
  const std::optional<std::vector<std::int64_t>>& document_starts() const { return documents_; }
  std::string_view file_bytes() const { return file_->bytes(); }
  void release() const { file_->release(); }
  // The tokens alone.
  std::string_view data() const;

  // All tokens; keeps the file mapped.
  static TokenSequence tokens(const std::shared_ptr<const TokenShard>& shard);

 private:
  TokenShard() = default;

  std::string path_;
  ShardFormat format_ = ShardFormat::kLlmc;
  std::unique_ptr<MappedFile> file_;
  ShardLayout layout_;
  std::optional<std::vector<std::int64_t>> documents_;
};

struct ShardScan {
  std::int64_t smallest = 0;  // ids; 0 and -1 when there are no tokens
  std::int64_t largest = -1;
  std::uint64_t hash = 0;  // XXH3 of the whole file
};

// Reads the whole file once, and keeps nothing of it in memory. Throws when it holds an id that its type cannot mean (a negative one).
ShardScan scan_shard(const TokenShard& shard);
// The same for many, on `threads` threads (0: all cores).
std::vector<ShardScan> scan_shards(std::span<const std::shared_ptr<const TokenShard>> shards,
                                   int threads = 0);

}  // namespace twill
