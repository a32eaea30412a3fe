// SPDX-License-Identifier: Apache-2.0
// Products with packed matrices: one stored weight, broadcast, times vectors of a panel. A weight
// that is not stored is work that is not done.
//
// Bound by multiply-adds with 2:4 (92 % of an AVX-512 core's peak), by the loads from the second
// cache with more zeros. A panel is as wide as the registers allow: four rows of sums stay in them
// while a strip runs over the columns of a chunk.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/products/packed_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "backends/cpu/products/packed_simd.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

// Vectors of a row of sums that stay in registers: 4 x 4 sums, 4 vectors of the panel and a weight
// of 32 registers; 4 x 3 + 3 + 1 of 16. Lanes of a panel: so many vectors once, or a few times.
constexpr int kVectors = lanes() == 16 ? 4 : 3;
constexpr std::int64_t kPass = kVectors * lanes();
constexpr std::int64_t kWidth = lanes() == 16 ? kPass : kPass * (48 / kPass);
static_assert(kWidth <= kMaxPanelWidth && kWidth % kPass == 0);

std::int64_t panel_width_impl() { return kWidth; }

// Transposes of as many vectors as a vector has lanes, in registers.
constexpr int kLanes = static_cast<int>(hn::MaxLanes(F32()));
using Square = VF[kLanes];

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose(Square&) {}
#else

// In every 128-bit block the 4 x 4 square of the four vectors.
HWY_INLINE void transpose_in_blocks(VF& v0, VF& v1, VF& v2, VF& v3) {
  const F32 d;
  const hn::Repartition<double, F32> dd;
  const auto a = hn::BitCast(dd, hn::InterleaveLower(d, v0, v1));  // 00 10 01 11
  const auto b = hn::BitCast(dd, hn::InterleaveLower(d, v2, v3));  // 20 30 21 31
  const auto e = hn::BitCast(dd, hn::InterleaveUpper(d, v0, v1));  // 02 12 03 13
  const auto f = hn::BitCast(dd, hn::InterleaveUpper(d, v2, v3));  // 22 32 23 33
  v0 = hn::BitCast(d, hn::InterleaveLower(dd, a, b));
  v1 = hn::BitCast(d, hn::InterleaveUpper(dd, a, b));
  v2 = hn::BitCast(d, hn::InterleaveLower(dd, e, f));
  v3 = hn::BitCast(d, hn::InterleaveUpper(dd, e, f));
}

HWY_INLINE void transpose(Square& v) {
  [[maybe_unused]] const F32 d;
  HWY_UNROLL(4)
  for (int i = 0; i < kLanes; i += 4) transpose_in_blocks(v[i], v[i + 1], v[i + 2], v[i + 3]);
    // Now block b of v[4 g + j] is column 4 b + j of rows 4 g to 4 g + 3.
#if HWY_TARGET == HWY_AVX2
  HWY_UNROLL(4)
  for (int j = 0; j < 4; ++j) {
    const VF lower = v[j], upper = v[4 + j];
    v[j] = hn::ConcatLowerLower(d, upper, lower);
    v[4 + j] = hn::ConcatUpperUpper(d, upper, lower);
  }
#elif HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  HWY_UNROLL(4)
  for (int j = 0; j < 4; ++j) {
    const VF r0 = v[j], r1 = v[4 + j], r2 = v[8 + j], r3 = v[12 + j];
    const VF even01 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(r1), r0);  // blocks 0 and 2
    const VF odd01 = hn::OddEvenBlocks(r1, hn::SwapAdjacentBlocks(r0));   // 1 and 3
    const VF even23 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(r3), r2);
    const VF odd23 = hn::OddEvenBlocks(r3, hn::SwapAdjacentBlocks(r2));
    v[j] = hn::ConcatLowerLower(d, even23, even01);
    v[4 + j] = hn::ConcatLowerLower(d, odd23, odd01);
    v[8 + j] = hn::ConcatUpperUpper(d, even23, even01);
    v[12 + j] = hn::ConcatUpperUpper(d, odd23, odd01);
  }
#endif
}
#endif  // HWY_SCALAR

// The square at `from`, of which `rows` rows and `cols` columns are there, transposed to `to`;
// there `padded` columns are written, zeros behind `rows`.
HWY_INLINE void transpose_square(const float* from, std::int64_t stride, std::int64_t rows,
                                 std::int64_t cols, float* to, std::int64_t to_stride,
                                 std::int64_t padded) {
  const F32 d;
  Square v;
  if (HWY_LIKELY(rows >= kLanes && cols >= kLanes && padded >= kLanes)) {
    HWY_UNROLL(16)
    for (int i = 0; i < kLanes; ++i) v[i] = hn::LoadU(d, from + i * stride);
    transpose(v);
    HWY_UNROLL(16)
    for (int i = 0; i < kLanes; ++i) hn::StoreU(v[i], d, to + i * to_stride);
    return;
  }
  for (int i = 0; i < kLanes; ++i) v[i] = i < rows ? load(from + i * stride, cols) : zero();
  transpose(v);
  for (int i = 0; i < std::min<std::int64_t>(kLanes, cols); ++i)
    store(v[i], to + i * to_stride, padded);
}

void panel_of_tokens_impl(const float* x, std::int64_t stride, std::int64_t tokens, std::int64_t K,
                          float* panel) {
  for (std::int64_t token = 0; token < kWidth; token += kLanes)
    for (std::int64_t k = 0; k < K; k += kLanes)
      transpose_square(x + token * stride + k, stride, tokens - token, K - k,
                       panel + k * kWidth + token, kWidth, kLanes);
}

void transpose_floats_impl(const float* from, std::int64_t stride, std::int64_t rows,
                           std::int64_t cols, float* to, std::int64_t to_stride) {
  for (std::int64_t c = 0; c < cols; c += kLanes)
    for (std::int64_t r = 0; r < rows; r += kLanes)
      transpose_square(from + r * stride + c, stride, rows - r, cols - c, to + c * to_stride + r,
                       to_stride, rows - r);
}

void tokens_of_sums_impl(const float* sums, std::int64_t rows, std::int64_t tokens, float* c,
                         std::int64_t stride) {
  transpose_floats_impl(sums, kWidth, rows, tokens, c, stride);
}

void panel_of_columns_impl(const float* b, std::int64_t stride, std::int64_t K, std::int64_t cols,
                           float* panel) {
  for (std::int64_t k = 0; k < K; ++k) {
    for (std::int64_t lane = 0; lane < kWidth; lane += lanes()) {
      const VF v = lane < cols ? load(b + k * stride + lane, cols - lane) : zero();
      hn::Store(v, F32(), panel + k * kWidth + lane);
    }
  }
}

void columns_of_sums_impl(const ColumnsOfSums& args) {
  for (std::int64_t row = 0; row < args.rows; ++row) {
    for (std::int64_t lane = 0; lane < args.cols; lane += lanes()) {
      const std::int64_t at = row * args.stride + lane, left = args.cols - lane;
      VF v = hn::Load(F32(), args.sums + row * kWidth + lane);
      if (args.bias != nullptr) v = hn::Add(v, load(args.bias + lane, left));
      if (args.addend != nullptr) v = hn::Add(v, load(args.addend + at, left));
      store(v, args.c + at, left);
    }
  }
}

using Sums = VF[kStripRows][kVectors];

// Where a strip's lists are read.
struct Cursor {
  const std::uint16_t* HWY_RESTRICT columns;
  const float* HWY_RESTRICT values;
};

// One list: every column is loaded once and multiplied into the rows of the set.
template <unsigned kSet>
HWY_INLINE void add_list(const float* HWY_RESTRICT panel, unsigned count, Cursor& at, Sums& sums) {
  const F32 d;
  for (const std::uint16_t* end = at.columns + count; at.columns != end; ++at.columns) {
    const float* HWY_RESTRICT from = panel + *at.columns * kWidth;
    VF v[kVectors];
    HWY_UNROLL(4)
    for (int i = 0; i < kVectors; ++i) v[i] = hn::Load(d, from + i * lanes());
    HWY_UNROLL(4)
    for (int row = 0; row < kStripRows; ++row) {
      if ((kSet >> row & 1u) == 0) continue;
      const VF weight = hn::Set(d, *at.values++);
      HWY_UNROLL(4)
      for (int i = 0; i < kVectors; ++i) sums[row][i] = hn::MulAdd(weight, v[i], sums[row][i]);
    }
  }
}

template <std::size_t... kList>
HWY_INLINE void add_lists(const float* HWY_RESTRICT panel, const std::uint16_t* counts, Cursor& at,
                          Sums& sums, std::index_sequence<kList...>) {
  (add_list<kRowSets[kList]>(panel, counts[kList], at, sums), ...);
}

// kPass lanes of one strip; `at` is moved behind it.
HWY_INLINE void multiply_strip(const float* HWY_RESTRICT panel, const std::uint16_t* counts,
                               const float* initial, Cursor& at, float* HWY_RESTRICT to) {
  const F32 d;
  Sums sums;
  HWY_UNROLL(4)
  for (int row = 0; row < kStripRows; ++row) {
    HWY_UNROLL(4)
    for (int i = 0; i < kVectors; ++i)
      sums[row][i] =
          initial != nullptr ? set(initial[row]) : hn::Load(d, to + row * kWidth + i * lanes());
  }
  add_lists(panel, counts, at, sums, std::make_index_sequence<kRowSets.size()>());
  HWY_UNROLL(4)
  for (int row = 0; row < kStripRows; ++row) {
    HWY_UNROLL(4)
    for (int i = 0; i < kVectors; ++i) hn::Store(sums[row][i], d, to + row * kWidth + i * lanes());
  }
}

void multiply_group_impl(const GroupProduct& p) {
  Cursor at{p.group.columns, p.group.values};
  for (std::int64_t strip = 0; strip < p.group.strips; ++strip) {
    const float* initial = p.initial == nullptr ? nullptr : p.initial + strip * kStripRows;
    const std::uint16_t* counts = p.group.counts + strip * kCountsPerStrip;
    float* to = p.sums + strip * kStripRows * kWidth;
    const Cursor begin = at;
    for (std::int64_t lane = 0; lane < p.used; lane += kPass) {
      at = begin;
      multiply_strip(p.panel + lane, counts, initial, at, to + lane);
    }
  }
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(panel_width_impl);
HWY_EXPORT(panel_of_tokens_impl);
HWY_EXPORT(panel_of_columns_impl);
HWY_EXPORT(multiply_group_impl);
HWY_EXPORT(tokens_of_sums_impl);
HWY_EXPORT(columns_of_sums_impl);
HWY_EXPORT(transpose_floats_impl);

std::int64_t panel_width() { return HWY_DYNAMIC_DISPATCH(panel_width_impl)(); }
void panel_of_tokens(const float* x, std::int64_t stride, std::int64_t tokens, std::int64_t K,
                     float* panel) {
  HWY_DYNAMIC_DISPATCH(panel_of_tokens_impl)(x, stride, tokens, K, panel);
}
void panel_of_columns(const float* b, std::int64_t stride, std::int64_t K, std::int64_t cols,
                      float* panel) {
  HWY_DYNAMIC_DISPATCH(panel_of_columns_impl)(b, stride, K, cols, panel);
}
void multiply_group(const GroupProduct& product) {
  HWY_DYNAMIC_DISPATCH(multiply_group_impl)(product);
}
void tokens_of_sums(const float* sums, std::int64_t rows, std::int64_t tokens, float* c,
                    std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(tokens_of_sums_impl)(sums, rows, tokens, c, stride);
}
void columns_of_sums(const ColumnsOfSums& args) {
  HWY_DYNAMIC_DISPATCH(columns_of_sums_impl)(args);
}
void transpose_floats(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                      float* to, std::int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_floats_impl)(from, stride, rows, cols, to, to_stride);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
