// SPDX-License-Identifier: Apache-2.0
#include "io/packed/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/require.h"
#include "io/descriptor.h"
#include "io/packed/unpacking_source.h"

namespace twill {
namespace {

// Bytes in memory, then those of a file, if there is one.
class PlainSource final : public ByteSource {
 public:
  PlainSource(std::string bytes, Descriptor file, std::string path)
      : first_(std::move(bytes)), file_(std::move(file)), path_(std::move(path)) {}

  std::size_t read(std::span<char> into) override {
    const std::size_t bytes = used_ < first_.size() ? take_first(into) : read_file(into);
    position_ += static_cast<std::int64_t>(bytes);
    return bytes;
  }

  // Reads ahead, so that the first bytes can be looked at.
  std::string_view peek(std::size_t bytes) {
    while (first_.size() < bytes) {
      char piece[64];
      const std::size_t got = read_file(std::span(piece).first(std::min(bytes, sizeof piece)));
      if (got == 0) break;
      first_.append(piece, got);
    }
    return first_;
  }

  const std::string& path() const override { return path_; }
  std::string_view compression() const override { return "none"; }
  std::int64_t file_position() const override { return position_; }

 private:
  std::size_t take_first(std::span<char> into) {
    const std::size_t bytes = std::min(into.size(), first_.size() - used_);
    std::memcpy(into.data(), first_.data() + used_, bytes);
    used_ += bytes;
    return bytes;
  }

  std::size_t read_file(std::span<char> into) {
    if (!file_.valid()) return 0;
    for (;;) {
      const ssize_t bytes = ::read(file_.get(), into.data(), into.size());
      if (bytes >= 0) return static_cast<std::size_t>(bytes);
      require(errno == EINTR, "cannot read {}: {}", path_, std::strerror(errno));
    }
  }

  std::string first_;
  std::size_t used_ = 0;
  Descriptor file_;
  std::string path_;
  std::int64_t position_ = 0;
};

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<PlainSource> plain) {
  using namespace std::string_view_literals;
  const std::string_view magic = plain->peek(6);
  if (magic.starts_with("\x1f\x8b"sv)) return make_gzip_source(std::move(plain));
  if (magic.starts_with("\xfd"sv
                        "7zXZ\0"sv))
    return make_xz_source(std::move(plain));
  if (magic.starts_with("\x28\xb5\x2f\xfd"sv)) return make_zstd_source(std::move(plain));
  return plain;
}

}  // namespace

std::unique_ptr<ByteSource> open_byte_source(const std::string& path) {
  const bool standard_input = path == "-";
  // A copy of descriptor 0: closing it must not close standard input for others.
  Descriptor file(standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = standard_input ? "standard input" : path;
  require(file.valid(), "cannot read {}: {}", name, std::strerror(errno));
  return unpacked(std::make_unique<PlainSource>(std::string(), std::move(file), name));
}

std::unique_ptr<ByteSource> byte_source_of(std::string bytes, std::string name) {
  return unpacked(std::make_unique<PlainSource>(std::move(bytes), Descriptor(), std::move(name)));
}

std::string read_all(ByteSource& source, std::size_t max_bytes) {
  std::string content;
  std::size_t used = 0;
  for (;;) {
    // One byte beyond the bound shows that there is more.
    const std::size_t wanted = std::clamp<std::size_t>(used, std::size_t{1} << 16, 1u << 24);
    content.resize(std::min(used + wanted, max_bytes + 1));
    const std::size_t bytes = source.read(std::span(content).subspan(used));
    used += bytes;
    require(used <= max_bytes, "{}: larger than {} bytes{}", source.path(), max_bytes,
            source.compression() == "none" ? "" : " when unpacked");
    if (bytes == 0) break;
  }
  content.resize(used);
  return content;
}

LineReader::LineReader(ByteSource& source, std::size_t max_line_bytes)
    : source_(source), max_line_bytes_(max_line_bytes), buffer_(std::size_t{1} << 18, '\0') {}

// Reads more behind what is there; false at the end of the source.
bool LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    scanned_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const std::size_t bytes = source_.read(std::span(buffer_).subspan(end_));
  end_ += bytes;
  return bytes > 0;
}

std::string_view LineReader::take(std::size_t length, std::size_t skip) {
  ++line_number_;
  require(length <= max_line_bytes_, "{}: line {} is longer than {} bytes", source_.path(),
          line_number_, max_line_bytes_);
  const std::string_view line(buffer_.data() + begin_, length);
  begin_ += length + skip;
  scanned_ = begin_;
  had_line_end_ = skip > 0;
  return line;
}

std::optional<std::string_view> LineReader::next() {
  for (;;) {
    const void* found = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
    if (found != nullptr)
      return take(
          static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) - begin_, 1);
    scanned_ = end_;
    if (end_ - begin_ > max_line_bytes_ || !fill()) break;
  }
  if (begin_ == end_) return std::nullopt;
  return take(end_ - begin_, 0);
}

}  // namespace twill
