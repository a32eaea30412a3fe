// SPDX-License-Identifier: Apache-2.0
// The documents of many files, batch by batch, with what a manifest says about each file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "data/document_reader.h"
#include "data/shards/manifest.h"

namespace twill {

struct DocumentBatch {
  std::vector<std::string> documents;  // empty: there are no more
  std::int64_t file_position = 0;      // bytes of the files read so far, as they lie on disk
};

class DocumentStream {
 public:
  // `texts` as for data.train. The files are opened one after the other. `key` begins messages.
  DocumentStream(const std::vector<std::string>& texts, DocumentOptions options,
                 std::string key = "TEXT");
  ~DocumentStream();
  DocumentStream(const DocumentStream&) = delete;
  DocumentStream& operator=(const DocumentStream&) = delete;

  // Documents until they take `bytes` bytes or more (kDocumentOverhead); a batch may span files.
  DocumentBatch next_batch(std::int64_t bytes);

  // Of all files; 0 for standard input.
  std::int64_t total_bytes() const { return total_bytes_; }
  // Complete at the end.
  const std::vector<ManifestSource>& sources() const { return sources_; }
  // Of the file opened last.
  bool json_lines() const { return json_lines_; }
  std::string_view compression() const { return compression_; }

 private:
  struct OpenFile;
  bool open_next();
  void close_file();

  std::vector<std::string> files_;
  DocumentOptions options_;
  std::string key_;
  std::size_t next_file_ = 0;
  std::unique_ptr<OpenFile> open_;
  std::vector<ManifestSource> sources_;
  std::int64_t total_bytes_ = 0;
  std::int64_t finished_bytes_ = 0;
  bool json_lines_ = false;
  std::string_view compression_;
};

}  // namespace twill
