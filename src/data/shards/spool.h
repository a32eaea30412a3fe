// SPDX-License-Identifier: Apache-2.0
// The tokens of documents on their way into shards: one file per batch of documents, in the order
// of the texts. A file carries the hash of the text it was made from and of its own content, so a
// preparation that was killed finds out by itself which batches it need not encode again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/document_encoder.h"
#include "io/mapped_file.h"

namespace twill {

// Hash of a batch of documents; where one ends and the next begins counts.
std::uint64_t hash_documents(std::span<const std::string_view> documents);

class SpoolPiece {
 public:
  // Writes the tokens in `width` bytes each, whole or not at all.
  static void write(const std::string& path, std::uint64_t text_hash,
                    const DocumentEncoder::Tokens& tokens, int width);
  // nullptr when the file is absent, damaged, or of another text or width.
  static std::unique_ptr<SpoolPiece> find(const std::string& path, std::uint64_t text_hash,
                                          int width);

  std::span<const std::int64_t> lengths() const { return lengths_; }
  std::int64_t num_tokens() const { return num_tokens_; }
  // The tokens from number `begin` on, as bytes.
  std::string_view tokens(std::int64_t begin, std::int64_t count) const;

 private:
  SpoolPiece() = default;
  bool read(const std::string& path, std::uint64_t text_hash, int width);

  std::unique_ptr<MappedFile> file_;
  std::span<const std::int64_t> lengths_;
  std::int64_t num_tokens_ = 0;
  int width_ = 2;
};

}  // namespace twill
