// SPDX-License-Identifier: Apache-2.0
// gzip through zlib. A file may be several members one after the other, as `cat a.gz b.gz` makes
// it, with zero bytes at the end, as tapes do.
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/require.h"
#include "io/packed/unpacking_source.h"

namespace twill {
namespace {

constexpr int kGzipWindow = 15 + 16;  // 32 KiB, gzip headers only

class GzipSource final : public UnpackingSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> inner) : UnpackingSource(std::move(inner)) {
    TWILL_CHECK(::inflateInit2(&stream_, kGzipWindow) == Z_OK, "cannot start zlib");
  }
  ~GzipSource() override { ::inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::string_view compression() const override { return "gzip"; }

  std::size_t unpack(std::span<char> into) override {
    const std::size_t room = std::min<std::size_t>(into.size(), std::numeric_limits<uInt>::max());
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out == room)
      if (between_members_ ? !next_member() : !inflate_some()) break;
    return room - stream_.avail_out;
  }

 private:
  // False at the end of the file, which a member may not have.
  bool inflate_some() {
    const std::span<const char> input = packed();
    require(!input.empty(), "{}: the gzip data ends too early; the file is cut off", path());
    // zlib does not write to its input; its type is older than const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    consume(input.size() - stream_.avail_in);
    require(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR,
            "{}: the gzip data is damaged: {}", path(),
            stream_.msg != nullptr ? stream_.msg : "unknown error");
    between_members_ = status == Z_STREAM_END;
    return true;
  }

  bool next_member() {
    std::span<const char> input = packed();
    while (!input.empty() && input.front() == '\0') {
      consume(1);
      input = packed();
    }
    if (input.empty()) return false;
    require(input.front() == '\x1f', "{}: the gzip data is damaged: something else follows it",
            path());
    TWILL_CHECK(::inflateReset(&stream_) == Z_OK, "cannot restart zlib");
    between_members_ = false;
    return true;
  }

  z_stream stream_{};
  bool between_members_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource> inner) {
  return std::make_unique<GzipSource>(std::move(inner));
}

}  // namespace twill
