// SPDX-License-Identifier: Apache-2.0
// Sums of products at kept positions, tokens in lanes. The row of dy stays in registers, so each FMA
// takes one vector of x from the L1 cache: the load port is the limit. So the partial sums, a vector
// for each entry, do not go through memory one by one: four entries side by side hide the latency of
// FMAs and are added up in registers until they fill one vector.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/selection/kept_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>

#include "backends/cpu/selection/kept_simd.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

constexpr std::int64_t kVectors = kKeptTokens / lanes();
using F64 = hn::Repartition<double, F32>;

HWY_INLINE VF lower_pairs(VF a, VF b) {
  return hn::BitCast(F32(),
                     hn::InterleaveLower(F64(), hn::BitCast(F64(), a), hn::BitCast(F64(), b)));
}
HWY_INLINE VF upper_pairs(VF a, VF b) {
  return hn::BitCast(F32(),
                     hn::InterleaveUpper(F64(), hn::BitCast(F64(), a), hn::BitCast(F64(), b)));
}

// A vector of columns from each of as many tokens, turned around.
HWY_INLINE void transpose_tile(const VF* rows, float* panel) {
  const F32 d;
  constexpr std::int64_t kBlocks = lanes() / 4;
  VF part[4][4];  // [k][g], block b: tokens 4 g … 4 g + 3 of column 4 b + k
  for (std::int64_t g = 0; g < kBlocks; ++g) {
    const VF* r = rows + 4 * g;
    const VF a = hn::InterleaveLower(d, r[0], r[1]), b = hn::InterleaveLower(d, r[2], r[3]);
    const VF c = hn::InterleaveUpper(d, r[0], r[1]), e = hn::InterleaveUpper(d, r[2], r[3]);
    part[0][g] = lower_pairs(a, b);
    part[1][g] = upper_pairs(a, b);
    part[2][g] = lower_pairs(c, e);
    part[3][g] = upper_pairs(c, e);
  }
  for (std::int64_t k = 0; k < 4; ++k) {
    const VF* p = part[k];
    const auto write = [&](VF column, std::int64_t b)
                           HWY_ATTR { hn::Store(column, d, panel + (4 * b + k) * kKeptTokens); };
    if constexpr (lanes() == 4) {
      write(p[0], 0);
    } else if constexpr (lanes() == 8) {
      write(hn::ConcatLowerLower(d, p[1], p[0]), 0);
      write(hn::ConcatUpperUpper(d, p[1], p[0]), 1);
    } else {
      const auto write_two = [&](VF even, VF odd, std::int64_t b) HWY_ATTR {
        write(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even), b);
        write(hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even)), b + 1);
      };
      write_two(hn::ConcatLowerLower(d, p[2], p[0]), hn::ConcatLowerLower(d, p[3], p[1]), 0);
      write_two(hn::ConcatUpperUpper(d, p[2], p[0]), hn::ConcatUpperUpper(d, p[3], p[1]), 2);
    }
  }
}

#else

HWY_INLINE void transpose_tile(const VF* rows, float* panel) { hn::Store(*rows, F32(), panel); }

#endif

// A tile at the edge: zeros where there is nothing.
void transpose_edge(const float* from, std::int64_t stride, std::int64_t tokens, std::int64_t cols,
                    float* panel) {
  VF rows[static_cast<std::size_t>(lanes())];
  for (std::int64_t i = 0; i < lanes(); ++i)
    rows[i] = i < tokens && cols > 0 ? load(from + i * stride, cols) : zero();
  transpose_tile(rows, panel);
}

void transpose_tokens_impl(const float* from, std::int64_t stride, std::int64_t tokens,
                           std::int64_t cols, float* panel) {
  const std::int64_t padded = (cols + kKeptTile - 1) / kKeptTile * kKeptTile;
  for (std::int64_t token = 0; token < kKeptTokens; token += lanes(), from += lanes() * stride) {
    float* to = panel + token;
    std::int64_t col = 0;
    for (; token + lanes() <= tokens && col + lanes() <= cols; col += lanes()) {
      VF rows[static_cast<std::size_t>(lanes())];
      const float* line = from + col;
      for (std::int64_t i = 0; i < lanes(); ++i, line += stride) {
        rows[i] = hn::LoadU(F32(), line);
      }
      transpose_tile(rows, to + col * kKeptTokens);
    }
    for (; col < padded; col += lanes())
      transpose_edge(from + col, stride, tokens - token, cols - col, to + col * kKeptTokens);
  }
}

#if HWY_TARGET != HWY_SCALAR

// Blocks of four lanes that hold parts of the sums of one group; every sum is added up in the same
// order, wherever it stands.
class WaitingGroups {
 public:
  WaitingGroups(float* sums, bool add) : sums_(sums), add_(add) {}

  HWY_INLINE void push(VF group) { hn::Store(group, F32(), groups_ + size_++ * lanes()); }
  HWY_INLINE void end_run() {
    if (size_ >= kMany) write_whole();
  }
  HWY_INLINE void end() {
    write_whole();
    if (size_ > 0) write(groups_);
  }

 private:
  static constexpr std::int64_t kBlocks = lanes() / kKeptGroup;
  static constexpr std::int64_t kMany = 16;  // 1 KB of the L1 cache

  HWY_INLINE VF group(const float* groups, std::int64_t index) const {
    return hn::Load(F32(), groups + index * lanes());
  }
  // The sums of as many groups as a vector has blocks.
  HWY_INLINE VF total(const float* groups) const {
    const F32 d;
    const auto add_halves = [&](VF a, VF b) HWY_ATTR {
      return hn::Add(hn::ConcatLowerLower(d, b, a), hn::ConcatUpperUpper(d, b, a));
    };
    if constexpr (kBlocks == 1) return group(groups, 0);
    if constexpr (kBlocks == 2) return add_halves(group(groups, 0), group(groups, 1));
    const VF even = add_halves(group(groups, 0), group(groups, 2));
    const VF odd = add_halves(group(groups, 1), group(groups, 3));
    return hn::Add(hn::OddEvenBlocks(odd, even),
                   hn::SwapAdjacentBlocks(hn::OddEvenBlocks(even, odd)));
  }
  HWY_INLINE void write(const float* groups) {
    const VF sum = total(groups);
    hn::Store(add_ ? hn::Add(hn::Load(F32(), sums_), sum) : sum, F32(), sums_);
    sums_ += lanes();
  }
  // Groups that do not fill a vector move to the front.
  HWY_INLINE void write_whole() {
    std::int64_t i = 0;
    for (; i + kBlocks <= size_; i += kBlocks) write(groups_ + i * lanes());
    for (std::int64_t k = 0; i + k < size_; ++k)
      hn::Store(group(groups_, i + k), F32(), groups_ + k * lanes());
    size_ -= i;
  }

  HWY_ALIGN float groups_[(kMany + kKeptColumns / kKeptGroup) * lanes()];
  std::int64_t size_ = 0;
  float* sums_;
  bool add_;
};

// kCount entries: block by block, lane i of a block = that part of the sum of entry i.
template <int kCount>
HWY_INLINE VF add_group(const VF* dy, const float* x, const std::uint16_t* offset) {
  const F32 d;
  VF sum[kKeptGroup];
  for (int i = 0; i < kKeptGroup; ++i)
    sum[i] = i < kCount ? hn::Mul(dy[0], hn::Load(d, x + offset[i])) : zero();
  for (std::int64_t v = 1; v < kVectors; ++v)
    for (int i = 0; i < kCount; ++i)
      sum[i] = hn::MulAdd(dy[v], hn::Load(d, x + offset[i] + v * lanes()), sum[i]);
  const VF a =
      hn::Add(hn::InterleaveLower(d, sum[0], sum[1]), hn::InterleaveUpper(d, sum[0], sum[1]));
  const VF b =
      hn::Add(hn::InterleaveLower(d, sum[2], sum[3]), hn::InterleaveUpper(d, sum[2], sum[3]));
  return hn::Add(lower_pairs(a, b), upper_pairs(a, b));
}

// A column of the next panel into the L2 cache, one with each run: first uses in random order would
// each wait for the L3 cache.
HWY_INLINE void fetch_column(const float* panel, std::int64_t column) {
  constexpr std::int64_t kLine = 16;
  if (column >= kKeptColumns) return;
  for (std::int64_t i = 0; i < kKeptTokens; i += kLine)
    __builtin_prefetch(panel + column * kKeptTokens + i, 0, 2);
}

void add_kept_products_impl(const KeptSumsArgs& args) {
  WaitingGroups groups(args.sums, args.add);
  const std::uint16_t* offset = args.offset;
  const float* x = args.x;
  for (const KeptRun* run = args.runs; run != args.runs + args.num_runs; ++run) {
    VF dy[static_cast<std::size_t>(kVectors)];
    for (std::int64_t v = 0; v < kVectors; ++v)
      dy[v] = hn::Load(F32(), args.dy + run->row * kKeptTokens + v * lanes());
    std::int32_t left = run->count;
    for (; left >= 4; left -= 4, offset += 4) groups.push(add_group<4>(dy, x, offset));
    if (left == 1) groups.push(add_group<1>(dy, x, offset));
    if (left == 2) groups.push(add_group<2>(dy, x, offset));
    if (left == 3) groups.push(add_group<3>(dy, x, offset));
    if (left > 0) offset += 4;
    groups.end_run();
    fetch_column(args.next_x, run - args.runs);
  }
  groups.end();
}

#else

void add_kept_products_impl(const KeptSumsArgs& args) {
  std::int64_t at = 0;
  for (const KeptRun* run = args.runs; run != args.runs + args.num_runs; ++run) {
    const float* dy = args.dy + run->row * kKeptTokens;
    for (std::int64_t i = at; i < at + run->count; ++i) {
      const float* x = args.x + args.offset[i];
      float sum = 0.0f;
      for (std::int64_t t = 0; t < kKeptTokens; ++t) sum += dy[t] * x[t];
      args.sums[i] = args.add ? args.sums[i] + sum : sum;
    }
    at += (run->count + kKeptGroup - 1) / kKeptGroup * kKeptGroup;
  }
}

#endif

using U8 = hn::ScalableTag<std::uint8_t>;
constexpr auto kBytes = static_cast<std::int64_t>(hn::MaxLanes(U8()));

HWY_INLINE hn::Mask<U8> is_kept(const std::uint8_t* mask) {
  return hn::Ne(hn::LoadU(U8(), mask), hn::Zero(U8()));
}

std::int64_t count_kept_impl(const std::uint8_t* mask, std::int64_t n) {
  std::int64_t count = 0, i = 0;
  for (; i + kBytes <= n; i += kBytes)
    count += static_cast<std::int64_t>(hn::CountTrue(U8(), is_kept(mask + i)));
  for (; i < n; ++i) count += mask[i] != 0;
  return count;
}

void list_kept_impl(const std::uint8_t* mask, std::int64_t n, std::int32_t* column) {
  std::int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(U8(), is_kept(mask + i), bytes);
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes, sizeof bits);
    for (; bits != 0; bits &= bits - 1)
      *column++ = static_cast<std::int32_t>(i) + std::countr_zero(bits);
  }
  for (; i < n; ++i)
    if (mask[i] != 0) *column++ = static_cast<std::int32_t>(i);
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(count_kept_impl);
HWY_EXPORT(list_kept_impl);
HWY_EXPORT(transpose_tokens_impl);
HWY_EXPORT(add_kept_products_impl);

std::int64_t count_kept(const std::uint8_t* mask, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(count_kept_impl)(mask, n);
}
void list_kept(const std::uint8_t* mask, std::int64_t n, std::int32_t* column) {
  HWY_DYNAMIC_DISPATCH(list_kept_impl)(mask, n, column);
}
void transpose_tokens(const float* from, std::int64_t stride, std::int64_t tokens,
                      std::int64_t cols, float* panel) {
  HWY_DYNAMIC_DISPATCH(transpose_tokens_impl)(from, stride, tokens, cols, panel);
}
void add_kept_products(const KeptSumsArgs& args) {
  HWY_DYNAMIC_DISPATCH(add_kept_products_impl)(args);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
