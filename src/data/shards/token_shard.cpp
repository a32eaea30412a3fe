// SPDX-License-Identifier: Apache-2.0
#include "data/shards/token_shard.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/require.h"

namespace twill {
namespace {

constexpr std::string_view kBinTokMagic = "BIN.TOK\n";

std::string index_path(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".idx").native();
}

bool has_index(const std::string& path) {
  std::error_code ignored;
  return path.ends_with(".bin") && std::filesystem::is_regular_file(index_path(path), ignored);
}

// The first eight bytes; fewer where the file is shorter or cannot be read.
std::string magic_bytes(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};  // reading a pipe would empty it
  std::ifstream file(path, std::ios::binary);
  char bytes[8];
  file.read(bytes, sizeof bytes);
  return std::string(bytes, static_cast<std::size_t>(file.gcount()));
}

// Files of llm.c that begin like a shard and are none.
void refuse_other_llmc_files(std::int32_t magic, const std::string& path) {
  constexpr std::int32_t kModel = 20'240'326, kEvaluation = 20'240'522, kState = 20'240'527,
                         kTokenizer = 20'240'328;
  require(magic != kModel, "{}: weights of an llm.c model, not tokens; use `twill import`", path);
  require(magic != kEvaluation, "{}: an evaluation task of llm.c, not a stream of tokens", path);
  require(magic != kState, "{}: an optimizer state of llm.c, not tokens", path);
  require(magic != kTokenizer, "{}: a tokenizer of llm.c, not tokens", path);
}

}  // namespace

std::string_view name_of(ShardFormat format) {
  switch (format) {
    case ShardFormat::kLlmc:
      return "llm.c";
    case ShardFormat::kNanoGpt:
      return "nanoGPT";
    case ShardFormat::kMegatron:
      return "Megatron";
    case ShardFormat::kBinTok:
      return "llm.q BIN.TOK";
  }
  return "unknown";
}

std::optional<ShardFormat> recognise_shard(const std::string& path) {
  const std::string magic = magic_bytes(path);
  if (magic == kBinTokMagic) return ShardFormat::kBinTok;
  if (magic.size() == 8) {
    std::int32_t number = 0;
    std::memcpy(&number, magic.data(), sizeof number);
    if (number == kLlmcMagic || number == kLlmcLargeMagic) return ShardFormat::kLlmc;
    if (path.ends_with(".bin")) refuse_other_llmc_files(number, path);
  }
  if (has_index(path)) return ShardFormat::kMegatron;
  if (path.ends_with(".bin") && !magic.empty()) return ShardFormat::kNanoGpt;
  return std::nullopt;
}

std::shared_ptr<const TokenShard> TokenShard::open(const std::string& path) {
  require(!path.ends_with(".idx"), "{}: the index of a Megatron file; give its .bin file", path);
  std::shared_ptr<TokenShard> shard(new TokenShard);
  shard->file_ = std::make_unique<MappedFile>(path);
  const std::optional<ShardFormat> format = recognise_shard(path);
  require(format.has_value(),
          "{}: not a file of tokens: expected a shard of llm.c, nanoGPT (.bin), Megatron (.bin and "
          ".idx) or llm.q",
          path);
  shard->path_ = path;
  shard->format_ = *format;
  const std::string_view bytes = shard->file_->bytes();
  switch (*format) {
    case ShardFormat::kLlmc:
      shard->layout_ = parse_llmc_header(bytes, std::ssize(bytes), path);
      break;
    case ShardFormat::kBinTok:
      shard->layout_ = parse_bin_tok_header(bytes, std::ssize(bytes), path);
      break;
    case ShardFormat::kNanoGpt:
      shard->layout_ = raw_layout(std::ssize(bytes), path);
      break;
    case ShardFormat::kMegatron: {
      const std::string index = index_path(path);
      MegatronIndex parsed =
          parse_megatron_index(MappedFile(index).bytes(), std::ssize(bytes), index);
      shard->layout_ = parsed.layout;
      shard->documents_ = std::move(parsed.document_starts);
      break;
    }
  }
  return shard;
}

std::string_view TokenShard::data() const {
  return file_bytes().substr(static_cast<std::size_t>(layout_.data_offset),
                             static_cast<std::size_t>(layout_.count * layout_.width));
}

TokenSequence TokenShard::tokens(const std::shared_ptr<const TokenShard>& shard) {
  TokenSequence tokens;
  tokens.append(shard, shard->data().data(), shard->layout_.width, shard->size());
  return tokens;
}

}  // namespace twill
