// SPDX-License-Identifier: Apache-2.0
// A file as a stream of bytes, unpacked on the way: plain, gzip, xz or zstd, recognised by the first
// bytes and not by the name. Memory stays bounded whatever the file says: a packed file of any
// length passes through buffers; one that asks its reader for more than kMaxUnpackMemory, or that
// grows beyond kMaxUnpackRatio, is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace twill {

// A packed file may become this many times as long; only what goes beyond kAlwaysUnpacked is held
// against it. Texts reach ten to forty; a bomb of zstd reaches a million, one of gzip a thousand.
inline constexpr std::int64_t kMaxUnpackRatio = 400;
inline constexpr std::int64_t kAlwaysUnpacked = std::int64_t{64} << 20;
// What unpacking may need for its dictionary. `xz -9` needs 65 MiB, `zstd --long=27` 128 MiB.
inline constexpr std::size_t kMaxUnpackMemory = std::size_t{128} << 20;
// The longest line, and the largest document held in memory at once.
inline constexpr std::size_t kMaxDocumentBytes = std::size_t{1} << 30;

// Errors are twill::Error, one line that begins with the path.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Writes at least one byte and at most into.size(); 0 means the end.
  virtual std::size_t read(std::span<char> into) = 0;
  // The name for messages.
  virtual const std::string& path() const = 0;
  // "none", "gzip", "xz" or "zstd".
  virtual std::string_view compression() const = 0;
  // Bytes taken from the file so far, packed as they are: what a progress bar counts.
  virtual std::int64_t file_position() const = 0;
};

// "-" is standard input. Throws `cannot read x: No such file or directory`.
std::unique_ptr<ByteSource> open_byte_source(const std::string& path);

// The same for bytes in memory; `name` is for messages.
std::unique_ptr<ByteSource> byte_source_of(std::string bytes, std::string name);

// Everything that is left. Throws when that is more than `max_bytes`.
std::string read_all(ByteSource& source, std::size_t max_bytes = kMaxDocumentBytes);

// Borrows its source. Holds one line and one buffer of 256 KiB.
class LineReader {
 public:
  explicit LineReader(ByteSource& source, std::size_t max_line_bytes = kMaxDocumentBytes);

  // The next line without its '\n', valid until the next call; empty optional at the end. Throws
  // when the line is longer than the bound, naming its number.
  std::optional<std::string_view> next();
  // Whether the line last given ended with '\n'; only the last line of a file may not.
  bool had_line_end() const { return had_line_end_; }
  // Of the line last given, from 1.
  std::int64_t line_number() const { return line_number_; }

 private:
  bool fill();
  std::string_view take(std::size_t length, std::size_t skip);

  ByteSource& source_;
  std::size_t max_line_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of what is not given yet
  std::size_t end_ = 0;      // of what was read
  std::size_t scanned_ = 0;  // no '\n' between begin_ and here
  bool had_line_end_ = false;
  std::int64_t line_number_ = 0;
};

}  // namespace twill
