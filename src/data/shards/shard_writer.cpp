// SPDX-License-Identifier: Apache-2.0
#include "data/shards/shard_writer.h"

#include <cstring>

#include <fmt/format.h>

#include "base/hash.h"
#include "data/shards/shard_header.h"
#include "data/shards/token_shard.h"

namespace twill {
namespace {

constexpr std::size_t kPendingBytes = std::size_t{1} << 20;

}  // namespace

ShardWriter::ShardWriter(std::string folder, std::string stem, int first, int width,
                         std::int64_t shard_tokens)
    : folder_(std::move(folder)),
      stem_(std::move(stem)),
      number_(first),
      width_(width),
      shard_tokens_(shard_tokens) {}

void ShardWriter::begin_shard() {
  ManifestShard shard;
  shard.file = fmt::format("{}_{:06}.bin", stem_, number_++);
  file_ = std::make_unique<AtomicFile>(folder_ + "/" + shard.file);
  const std::string header = llmc_header(width_, 0);  // the count is known at the end
  file_->write(header.data(), header.size());
  shards_.push_back(std::move(shard));
}

void ShardWriter::flush() {
  file_->write(pending_.data(), pending_.size());
  pending_.clear();
}

void ShardWriter::end_shard() {
  flush();
  ManifestShard& shard = shards_.back();
  const std::string header = llmc_header(width_, shard.tokens);
  file_->patch(0, header.data(), header.size());
  file_->commit();
  file_.reset();
  // Read back: the hash is that of the file as others see it, and the largest id comes with it.
  const ShardScan scan = scan_shard(*TokenShard::open(folder_ + "/" + shard.file));
  shard.hash = hash_text(scan.hash);
  shard.largest_id = scan.largest;
}

void ShardWriter::add_document(std::string_view tokens) {
  bool begins = true;
  while (!tokens.empty()) {
    if (!file_) begin_shard();
    ManifestShard& shard = shards_.back();
    shard.documents += begins ? 1 : 0;
    begins = false;
    const std::int64_t room = (shard_tokens_ - shard.tokens) * width_;
    const std::string_view part = tokens.substr(0, static_cast<std::size_t>(room));
    pending_ += part;
    if (pending_.size() >= kPendingBytes) flush();
    shard.tokens += std::ssize(part) / width_;
    tokens.remove_prefix(part.size());
    if (shard.tokens == shard_tokens_) end_shard();
  }
}

std::vector<ManifestShard> ShardWriter::finish() {
  if (file_) end_shard();
  return std::move(shards_);
}

void write_llmc_shard(const std::string& path, const std::vector<std::int32_t>& ids, int width) {
  AtomicFile file(path);
  const std::string header = llmc_header(width, std::ssize(ids));
  file.write(header.data(), header.size());
  std::string bytes(ids.size() * static_cast<std::size_t>(width), '\0');
  for (std::size_t i = 0; i < ids.size(); ++i)
    std::memcpy(bytes.data() + i * static_cast<std::size_t>(width), &ids[i],
                static_cast<std::size_t>(width));
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace twill
