// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/document_reader.h"
#include "io/packed/byte_source.h"

namespace twill {

// The word that stands for the corpus embedded in the program.
inline constexpr std::string_view kBuiltinCorpus = "builtin";

// The longest text that is held in memory; longer ones become shards first (`twill data prepare`).
inline constexpr std::size_t kMaxTextBytes = std::size_t{2} << 30;

// The files of a source. A source is a file, a folder (all files below it, sorted by path, hidden
// ones passed over), a glob ("data/*.txt"), "builtin" or "-" (standard input); the last two stand
// for themselves. Throws twill::Error when there is none; `key` begins the message ("data.train").
std::vector<std::string> text_files(const std::string& source, std::string_view key);

// One of these files as a stream, unpacked. A pipe is fine, a device is not: it may never end.
std::unique_ptr<ByteSource> open_text(const std::string& path, std::string_view key);

// What stands between two files.
enum class FileJoin {
  kLineEnd,    // a line end, where the first does not end with one
  kSeparator,  // that, and a separator line (data/document_reader.h)
};

struct TextOptions {
  std::string_view key;  // begins messages
  FileJoin join = FileJoin::kLineEnd;
  DocumentOptions documents = {};  // which member of a line of JSON Lines is the text
};

struct LoadedText {
  std::string text;
  // Of the files that are neither JSON Lines nor built in: those without a separator line.
  std::vector<std::string> undivided;
  std::int64_t divided = 0;  // the files with one, and JSON Lines
};

// The bytes of all sources, in the order given, unpacked. JSON Lines become their documents with
// separator lines between them.
//
// Throws twill::Error when a source is missing, unreadable, empty or longer than kMaxTextBytes.
LoadedText read_texts(std::span<const std::string> sources, const TextOptions& options);
// The text alone.
std::string load_text(std::span<const std::string> sources, std::string_view key,
                      FileJoin join = FileJoin::kLineEnd);

}  // namespace twill
