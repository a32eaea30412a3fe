// SPDX-License-Identifier: Apache-2.0
#include "data/shards/shard_header.h"

#include <cstring>

#include "base/check.h"
#include "base/require.h"

namespace twill {
namespace {

std::int32_t int32_at(std::string_view bytes, std::size_t offset) {
  std::int32_t value = 0;
  TWILL_CHECK(offset + sizeof value <= bytes.size(), "read behind a header");
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

constexpr std::int64_t kMaxInt32 = 2'147'483'647;

}  // namespace

ShardLayout parse_llmc_header(std::string_view head, std::int64_t file_bytes,
                              const std::string& path) {
  require(file_bytes >= kShardHeaderBytes && std::ssize(head) >= kShardHeaderBytes,
          "{}: {} bytes are too few for the header of an llm.c shard, which has {}", path,
          file_bytes, kShardHeaderBytes);
  const std::int32_t magic = int32_at(head, 0), version = int32_at(head, 4);
  require(magic == kLlmcMagic || magic == kLlmcLargeMagic, "{}: not an llm.c shard: magic {}", path,
          magic);
  const bool large = magic == kLlmcLargeMagic;
  require(version == (large ? 7 : 1), "{}: llm.c shard of version {}, expected {}", path, version,
          large ? 7 : 1);
  ShardLayout layout{.version = version,
                     .width = large ? 4 : 2,
                     .data_offset = kShardHeaderBytes,
                     .count = int32_at(head, 8),
                     .max_id = large ? kMaxInt32 : 65'535,
                     .vocab_size = std::nullopt};
  require(layout.count >= 0, "{}: the header promises {} tokens", path, layout.count);
  const std::int64_t expected = kShardHeaderBytes + layout.count * layout.width;
  require(file_bytes == expected,
          "{}: the header promises {} tokens, {} bytes in all, but the file has {}", path,
          layout.count, expected, file_bytes);
  return layout;
}

ShardLayout parse_bin_tok_header(std::string_view head, std::int64_t file_bytes,
                                 const std::string& path) {
  require(file_bytes >= kShardHeaderBytes && std::ssize(head) >= kShardHeaderBytes,
          "{}: {} bytes are too few for the header of a BIN.TOK file, which has {}", path,
          file_bytes, kShardHeaderBytes);
  require(head.starts_with("BIN.TOK\n"), "{}: not a BIN.TOK file", path);
  const std::int32_t version = int32_at(head, 8), width = int32_at(head, 12);
  require(version == 2 || version == 3, "{}: BIN.TOK file of version {}, expected 2 or 3", path,
          version);
  require(width == 4, "{}: BIN.TOK file with {} bytes per token, expected 4", path, width);
  ShardLayout layout{.version = version,
                     .width = 4,
                     .data_offset = kShardHeaderBytes,
                     .count = int32_at(head, 16),
                     .max_id = kMaxInt32,
                     .vocab_size = int32_at(head, 20)};
  require(layout.count >= 0, "{}: the header promises {} tokens", path, layout.count);
  require(*layout.vocab_size > 0, "{}: the header promises a vocabulary of {}", path,
          *layout.vocab_size);
  require(layout.count * 4 <= file_bytes - kShardHeaderBytes,
          "{}: the header promises {} tokens, at least {} bytes in all, but the file has {}", path,
          layout.count, kShardHeaderBytes + layout.count * 4, file_bytes);
  return layout;
}

ShardLayout raw_layout(std::int64_t file_bytes, const std::string& path) {
  require(file_bytes % 2 == 0,
          "{}: {} bytes, an odd number: neither a known header nor plain uint16 tokens", path,
          file_bytes);
  return {.version = 0,
          .width = 2,
          .data_offset = 0,
          .count = file_bytes / 2,
          .max_id = 65'535,
          .vocab_size = std::nullopt};
}

std::string llmc_header(int width, std::int64_t count) {
  TWILL_CHECK(count >= 0 && count <= kMaxInt32, "a shard holds less than 2^31 tokens");
  const std::int32_t fields[] = {width == 2 ? kLlmcMagic : kLlmcLargeMagic, width == 2 ? 1 : 7,
                                 static_cast<std::int32_t>(count)};
  std::string header(static_cast<std::size_t>(kShardHeaderBytes), '\0');
  std::memcpy(header.data(), fields, sizeof fields);
  return header;
}

}  // namespace twill
