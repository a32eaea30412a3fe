// SPDX-License-Identifier: Apache-2.0
// Between the strided rows of a packed qkv buffer and the padded blocks that attention computes on.
// Strided rows fall into few sets of a cache; packed ones fill it evenly.
#if defined(TWILL_BACKENDS_CPU_ATTENTION_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TWILL_BACKENDS_CPU_ATTENTION_PACK_INL_H_
#undef TWILL_BACKENDS_CPU_ATTENTION_PACK_INL_H_
#else
#define TWILL_BACKENDS_CPU_ATTENTION_PACK_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/attention/attention_reach.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {

constexpr std::int64_t kBlock = kAttentionBlock;

// to (rows_padded, width) = from (rows, D), zeros elsewhere.
HWY_INLINE void pack_rows(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t D,
                          float* to, std::int64_t rows_padded, std::int64_t width) {
  for (std::int64_t row = 0; row < rows_padded; ++row) {
    float* line = to + row * width;
    const std::int64_t filled = row < rows ? D : 0;
    for (std::int64_t i = 0; i < filled; i += lanes())
      store(load(from + row * stride + i, filled - i), line + i, width - i);
    for (std::int64_t i = filled; i < width; ++i) line[i] = 0.0f;
  }
}

// to (width, 64) = scale from (64, width)ᵀ.
HWY_INLINE void transpose_block(const float* from, std::int64_t width, float scale, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t row = 0; row < kBlock; ++row)
    for (std::int64_t i = 0; i < width; ++i) to[i * kBlock + row] = scale * from[row * width + i];
#else
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> dd;
  const auto factor = hn::Set(d, scale);
  for (std::int64_t row = 0; row < kBlock; row += 4) {
    for (std::int64_t i = 0; i < width; i += 4) {
      const float* block = from + row * width + i;
      const auto r0 = hn::LoadU(d, block), r1 = hn::LoadU(d, block + width);
      const auto r2 = hn::LoadU(d, block + 2 * width), r3 = hn::LoadU(d, block + 3 * width);
      const auto a = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));  // 00 10 01 11
      const auto b = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));  // 20 30 21 31
      const auto e = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));  // 02 12 03 13
      const auto f = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));  // 22 32 23 33
      const auto write = [&](auto column, std::int64_t k) HWY_ATTR {
        hn::StoreU(hn::Mul(hn::BitCast(d, column), factor), d, to + (i + k) * kBlock + row);
      };
      write(hn::InterleaveLower(dd, a, b), 0);
      write(hn::InterleaveUpper(dd, a, b), 1);
      write(hn::InterleaveLower(dd, e, f), 2);
      write(hn::InterleaveUpper(dd, e, f), 3);
    }
  }
#endif
}

// to (rows, D) = factors[row] from (rows, width).
HWY_INLINE void write_rows(const float* from, std::int64_t width, std::int64_t rows,
                           const float* factors, float* to, std::int64_t stride, std::int64_t D) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < D; i += lanes())
      store(hn::Mul(load(from + row * width + i, width - i), set(factors[row])),
            to + row * stride + i, D - i);
}

}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
