// SPDX-License-Identifier: Apache-2.0
// The headers of token files. Each parser takes the first bytes and the size of the file, and
// believes nothing that the size contradicts. All numbers are little-endian. Errors are
// twill::Error and begin with the path.
//
//   llm.c      256 int32: magic, version, token count, zeros; then the tokens.
//              magic 20240520, version 1: uint16; magic 20240801, version 7: uint32
//   llm.q      "BIN.TOK\n", int32 version 2 or 3, bytes per token (4), token count, vocabulary; the
//              tokens at byte 1024; masks and positions may follow
//   Megatron   x.idx: "MMIDIDX\0\0", u64 1, u8 type, u64 sequences, u64 bounds, int32 length and
//              int64 byte offset per sequence, int64 document bounds; x.bin: the tokens
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twill {

inline constexpr std::int32_t kLlmcMagic = 20'240'520;       // uint16
inline constexpr std::int32_t kLlmcLargeMagic = 20'240'801;  // uint32
inline constexpr std::int64_t kShardHeaderBytes = 1024;

struct ShardLayout {
  std::int64_t version = 0;
  int width = 2;                           // bytes per token
  std::int64_t data_offset = 0;            // of the first token
  std::int64_t count = 0;                  // tokens
  std::int64_t max_id = 0;                 // the largest that the type can mean
  std::optional<std::int64_t> vocab_size;  // where the header says
};

ShardLayout parse_llmc_header(std::string_view head, std::int64_t file_bytes,
                              const std::string& path);
ShardLayout parse_bin_tok_header(std::string_view head, std::int64_t file_bytes,
                                 const std::string& path);
// nanoGPT: uint16 from the first byte on.
ShardLayout raw_layout(std::int64_t file_bytes, const std::string& path);

struct MegatronIndex {
  ShardLayout layout;
  std::int64_t sequences = 0;
  std::vector<std::int64_t> document_starts;  // in tokens
};

// `index` is the whole .idx file, `data_bytes` the size of the .bin file.
MegatronIndex parse_megatron_index(std::string_view index, std::int64_t data_bytes,
                                   const std::string& path);

// The 1024 bytes in front of the tokens of an llm.c shard.
std::string llmc_header(int width, std::int64_t count);

}  // namespace twill
