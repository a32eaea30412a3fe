// SPDX-License-Identifier: Apache-2.0
#include "data/shards/document_stream.h"

#include <filesystem>

#include "base/require.h"
#include "data/builtin_corpus.h"
#include "data/document_encoder.h"
#include "data/shards/token_shard.h"
#include "data/text_source.h"

namespace twill {
namespace {

std::int64_t file_bytes(const std::string& path) {
  if (path == kBuiltinCorpus) return std::ssize(builtin_corpus());
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  return unknown ? 0 : static_cast<std::int64_t>(bytes);
}

// Passes bytes on, counted and hashed.
class HashedSource final : public ByteSource {
 public:
  explicit HashedSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}

  std::size_t read(std::span<char> into) override {
    const std::size_t bytes = inner_->read(into);
    hasher_.add(into.data(), bytes);
    bytes_ += static_cast<std::int64_t>(bytes);
    return bytes;
  }
  const std::string& path() const override { return inner_->path(); }
  std::string_view compression() const override { return inner_->compression(); }
  std::int64_t file_position() const override { return inner_->file_position(); }

  std::int64_t bytes() const { return bytes_; }
  std::string hash() const { return hash_text(hasher_.value()); }

 private:
  std::unique_ptr<ByteSource> inner_;
  Hasher hasher_;
  std::int64_t bytes_ = 0;
};

}  // namespace

struct DocumentStream::OpenFile {
  OpenFile(std::unique_ptr<ByteSource> inner, const DocumentOptions& options)
      : source(std::move(inner)), reader(source, options) {}
  HashedSource source;
  DocumentReader reader;
  std::int64_t documents = 0;
};

DocumentStream::DocumentStream(const std::vector<std::string>& texts, DocumentOptions options,
                               std::string key)
    : options_(std::move(options)), key_(std::move(key)) {
  for (const std::string& text : texts)
    for (std::string& file : text_files(text, key_)) files_.push_back(std::move(file));
  for (const std::string& file : files_) {
    require(!recognise_shard(file), "{}: {} holds tokens, not text; data.train takes it as it is",
            key_, file);
    total_bytes_ += file_bytes(file);
  }
}

DocumentStream::~DocumentStream() = default;

bool DocumentStream::open_next() {
  if (next_file_ == files_.size()) return false;
  const std::string& path = files_[next_file_++];
  open_ = std::make_unique<OpenFile>(open_text(path, key_), options_);
  json_lines_ = open_->reader.json_lines();
  compression_ = open_->source.compression();
  return true;
}

void DocumentStream::close_file() {
  sources_.push_back({.path = files_[next_file_ - 1],
                      .bytes = open_->source.bytes(),
                      .hash = open_->source.hash(),
                      .documents = open_->documents});
  finished_bytes_ += open_->source.file_position();
  open_.reset();
}

DocumentBatch DocumentStream::next_batch(std::int64_t bytes) {
  DocumentBatch batch;
  std::string document;
  for (std::int64_t got = 0; got < bytes && (open_ || open_next());) {
    if (!open_->reader.next(document)) {
      close_file();
      continue;
    }
    ++open_->documents;
    got += std::ssize(document) + kDocumentOverhead;
    batch.documents.push_back(std::move(document));
  }
  batch.file_position = finished_bytes_ + (open_ ? open_->source.file_position() : 0);
  return batch;
}

}  // namespace twill
