// SPDX-License-Identifier: Apache-2.0
// What the three unpackers share: an inner source and the packed bytes read from it and not yet
// used. Private to io.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/require.h"
#include "io/packed/byte_source.h"

namespace twill {

class UnpackingSource : public ByteSource {
 public:
  explicit UnpackingSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}

  const std::string& path() const override { return inner_->path(); }
  std::int64_t file_position() const override { return inner_->file_position(); }

  std::size_t read(std::span<char> into) final {
    const std::size_t bytes = unpack(into);
    unpacked_ += static_cast<std::int64_t>(bytes);
    require(unpacked_ - kAlwaysUnpacked <= kMaxUnpackRatio * file_position(),
            "{}: unpacks to more than {} times its size, as no text does; unpack it yourself if it "
            "is meant so",
            path(), kMaxUnpackRatio);
    return bytes;
  }

 protected:
  // As read().
  virtual std::size_t unpack(std::span<char> into) = 0;
  // Packed bytes to work on: those left over, or new ones. Empty at the end of the file.
  std::span<const char> packed() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = inner_->read(buffer_);
    }
    return std::span<const char>(buffer_).subspan(begin_, end_ - begin_);
  }
  void consume(std::size_t bytes) { begin_ += bytes; }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 18);
  std::int64_t unpacked_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource> inner);
std::unique_ptr<ByteSource> make_xz_source(std::unique_ptr<ByteSource> inner);
std::unique_ptr<ByteSource> make_zstd_source(std::unique_ptr<ByteSource> inner);

}  // namespace twill
