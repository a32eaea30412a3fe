// SPDX-License-Identifier: Apache-2.0
// xz through liblzma. A file may be several streams one after the other.
#include <lzma.h>

#include "base/check.h"
#include "base/require.h"
#include "io/packed/unpacking_source.h"

namespace twill {
namespace {

class XzSource final : public UnpackingSource {
 public:
  explicit XzSource(std::unique_ptr<ByteSource> inner) : UnpackingSource(std::move(inner)) {
    TWILL_CHECK(::lzma_stream_decoder(&stream_, kMaxUnpackMemory, LZMA_CONCATENATED) == LZMA_OK,
                "cannot start liblzma");
  }
  ~XzSource() override { ::lzma_end(&stream_); }
  XzSource(const XzSource&) = delete;
  XzSource& operator=(const XzSource&) = delete;

  std::string_view compression() const override { return "xz"; }

  std::size_t unpack(std::span<char> into) override {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(into.data());
    stream_.avail_out = into.size();
    while (!ended_ && stream_.avail_out == into.size()) decode_some();
    return into.size() - stream_.avail_out;
  }

 private:
  void decode_some() {
    const std::span<const char> input = packed();
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
    stream_.avail_in = input.size();
    const lzma_ret status = ::lzma_code(&stream_, input.empty() ? LZMA_FINISH : LZMA_RUN);
    consume(input.size() - stream_.avail_in);
    ended_ = status == LZMA_STREAM_END;
    if (status != LZMA_OK && !ended_) fail_with(status);
  }

  [[noreturn]] void fail_with(lzma_ret status) {
    switch (status) {
      case LZMA_BUF_ERROR:
        fail("{}: the xz data ends too early; the file is cut off", path());
      case LZMA_MEMLIMIT_ERROR:
        fail(
            "{}: unpacking needs {} MiB of memory, allowed are {}; pack it again with `xz -9` or "
            "less",
            path(), ::lzma_memusage(&stream_) >> 20, kMaxUnpackMemory >> 20);
      case LZMA_MEM_ERROR:
        fail("{}: not enough memory to unpack it", path());
      case LZMA_OPTIONS_ERROR:
        fail("{}: the xz data uses options that this liblzma does not know", path());
      default:
        fail("{}: the xz data is damaged", path());
    }
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> make_xz_source(std::unique_ptr<ByteSource> inner) {
  return std::make_unique<XzSource>(std::move(inner));
}

}  // namespace twill
