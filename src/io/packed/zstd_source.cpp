// SPDX-License-Identifier: Apache-2.0
// zstd through libzstd. A file may be several frames one after the other.
#include <zstd.h>
#include <zstd_errors.h>

#include <bit>

#include "base/check.h"
#include "base/require.h"
#include "io/packed/unpacking_source.h"

namespace twill {
namespace {

constexpr int kMaxWindowLog = std::bit_width(kMaxUnpackMemory) - 1;

class ZstdSource final : public UnpackingSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> inner)
      : UnpackingSource(std::move(inner)), context_(::ZSTD_createDCtx(), ::ZSTD_freeDCtx) {
    TWILL_CHECK(context_ != nullptr, "cannot start libzstd");
    const std::size_t status =
        ::ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
    TWILL_CHECK(::ZSTD_isError(status) == 0, "libzstd takes no window limit");
  }

  std::string_view compression() const override { return "zstd"; }

  std::size_t unpack(std::span<char> into) override {
    ZSTD_outBuffer output{into.data(), into.size(), 0};
    while (output.pos == 0)
      if (!decode_some(output)) break;
    return output.pos;
  }

 private:
  // False at the end of the file.
  bool decode_some(ZSTD_outBuffer& output) {
    const std::span<const char> bytes = packed();
    if (bytes.empty() && !inside_frame_) return false;
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    const std::size_t status = ::ZSTD_decompressStream(context_.get(), &output, &input);
    consume(input.pos);
    require_good(status);
    // Without input the decoder may still hold output back; when it gives none either, it waits for
    // bytes that never come.
    require(!bytes.empty() || output.pos > 0,
            "{}: the zstd data ends too early; the file is cut off", path());
    inside_frame_ = status != 0;
    return true;
  }

  void require_good(std::size_t status) {
    if (::ZSTD_isError(status) == 0) return;
    require(::ZSTD_getErrorCode(status) != ZSTD_error_frameParameter_windowTooLarge,
            "{}: unpacking needs more than the {} MiB of memory that are allowed; pack it again "
            "with `zstd --long={}` or less",
            path(), kMaxUnpackMemory >> 20, kMaxWindowLog);
    fail("{}: the zstd data is damaged: {}", path(), ::ZSTD_getErrorName(status));
  }

  std::unique_ptr<ZSTD_DCtx, decltype(&::ZSTD_freeDCtx)> context_;
  bool inside_frame_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> make_zstd_source(std::unique_ptr<ByteSource> inner) {
  return std::make_unique<ZstdSource>(std::move(inner));
}

}  // namespace twill
