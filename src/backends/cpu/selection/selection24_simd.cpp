// SPDX-License-Identifier: Apache-2.0
// 2:4 selection in SIMD: one group, or one 4 x 4 block, per lane. Comparisons and additions in the
// order of the contract, so every lane count gives the same bits.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/selection/selection24_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <utility>

#include "backends/cpu/selection/selection24_simd.h"
#include "backends/cpu/selection/transposable24_table.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

using I32 = hn::RebindToSigned<F32>;
using VI = hn::Vec<I32>;
using MI = hn::Mask<I32>;

constexpr std::size_t kLanes = hn::MaxLanes(F32());

// |x| as an integer that orders like it, NaN as +Inf.
HWY_INLINE VI magnitude(VF x) {
  const I32 d;
  const VI bits = hn::And(hn::BitCast(d, x), hn::Set(d, 0x7FFF'FFFF));
  return hn::Min(bits, hn::Set(d, 0x7F80'0000));
}

struct Quad {
  MI keep[4];
};

// An entry falls if at least two of the other three beat it; of equals the earlier one beats.
HWY_INLINE MI falls(MI a, MI b, MI c) { return hn::Or(hn::And(a, b), hn::And(c, hn::Or(a, b))); }

HWY_INLINE Quad keep_two(VI m0, VI m1, VI m2, VI m3) {
  const MI b10 = hn::Gt(m1, m0), b20 = hn::Gt(m2, m0), b30 = hn::Gt(m3, m0);
  const MI b21 = hn::Gt(m2, m1), b31 = hn::Gt(m3, m1), b32 = hn::Gt(m3, m2);
  return {{hn::Not(falls(b10, b20, b30)), hn::Not(falls(hn::Not(b10), b21, b31)),
           hn::Not(falls(hn::Not(b20), hn::Not(b21), b32)), falls(b30, b31, b32)}};
}

// The four bytes of every lane, in memory order.
HWY_INLINE void store_bytes(VI v, std::uint8_t* to) {
#if HWY_TARGET == HWY_SCALAR
  const std::int32_t lane = hn::GetLane(v);
  std::memcpy(to, &lane, sizeof lane);
#else
  const hn::Repartition<std::uint8_t, I32> d8;
  hn::StoreU(hn::BitCast(d8, v), d8, to);
#endif
}

// Sixteen groups of four neighbours (with 16 lanes): four mask bytes per lane.
HWY_INLINE void select_neighbours(const float* x, std::uint8_t* mask) {
  const I32 d;
  VF x0, x1, x2, x3;
  hn::LoadInterleaved4(F32(), x, x0, x1, x2, x3);
  const Quad quad = keep_two(magnitude(x0), magnitude(x1), magnitude(x2), magnitude(x3));
  VI bytes = hn::IfThenElseZero(quad.keep[0], hn::Set(d, 1));
  bytes = hn::Or(bytes, hn::IfThenElseZero(quad.keep[1], hn::Set(d, 1 << 8)));
  bytes = hn::Or(bytes, hn::IfThenElseZero(quad.keep[2], hn::Set(d, 1 << 16)));
  bytes = hn::Or(bytes, hn::IfThenElseZero(quad.keep[3], hn::Set(d, 1 << 24)));
  store_bytes(bytes, mask);
}

void select_within_row_impl(const float* x, std::uint8_t* mask, std::int64_t n) {
  constexpr std::int64_t kStep = 4 * lanes();
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) select_neighbours(x + i, mask + i);
  if (i == n) return;
  const auto rest = static_cast<std::size_t>(n - i);
  float last[4 * kLanes] = {};
  std::uint8_t last_mask[4 * kLanes];
  std::memcpy(last, x + i, rest * sizeof(float));
  select_neighbours(last, last_mask);
  std::memcpy(mask + i, last_mask, rest);
}

HWY_INLINE void store_mask(MI keep, std::uint8_t* mask, std::int64_t count) {
  const hn::Rebind<std::uint8_t, I32> d8;
  const auto bytes = hn::DemoteTo(d8, hn::IfThenElseZero(keep, hn::Set(I32(), 1)));
  if (HWY_LIKELY(count >= lanes())) return hn::StoreU(bytes, d8, mask);
  std::uint8_t last[kLanes];
  hn::StoreU(bytes, d8, last);
  std::memcpy(mask, last, static_cast<std::size_t>(count));
}

void select_within_columns_impl(const float* x, std::uint8_t* mask, std::int64_t stride,
                                std::int64_t cols) {
  for (std::int64_t c = 0; c < cols; c += lanes()) {
    VI m[4];
    for (int r = 0; r < 4; ++r) m[r] = magnitude(load(x + r * stride + c, cols - c));
    const Quad quad = keep_two(m[0], m[1], m[2], m[3]);
    for (int r = 0; r < 4; ++r) store_mask(quad.keep[r], mask + r * stride + c, cols - c);
  }
}

// The largest of 16 magnitudes, the first of equals, and its bit.
HWY_INLINE void largest_entry(const VI* m, VI& best, VI& bit) {
  VI value[16], bits[16];
  for (int i = 0; i < 16; ++i) value[i] = m[i], bits[i] = hn::Set(I32(), 1 << i);
  for (int step = 1; step < 16; step *= 2) {
    for (int i = 0; i < 16; i += 2 * step) {
      bits[i] = hn::IfThenElse(hn::Gt(value[i + step], value[i]), bits[i + step], bits[i]);
      value[i] = hn::Max(value[i], value[i + step]);
    }
  }
  best = value[0];
  bit = bits[0];
}

// Whether at least two bits are set.
HWY_INLINE MI has_two(VI bits) {
  const VI without_lowest = hn::And(bits, hn::Sub(bits, hn::Set(I32(), 1)));
  return hn::Ne(without_lowest, hn::Zero(I32()));
}

// Takes entries that cannot be kept any more out of the contest: m < 0.
HWY_INLINE void drop_entries(VI kept, VI* m) {
  MI full_row[4], full_column[4];
  for (int i = 0; i < 4; ++i) {
    full_row[i] = has_two(hn::And(kept, hn::Set(I32(), 0xF << (4 * i))));
    full_column[i] = has_two(hn::And(kept, hn::Set(I32(), 0x1111 << i)));
  }
  for (int i = 0; i < 16; ++i) {
    const MI taken = hn::TestBit(kept, hn::Set(I32(), 1 << i));
    const MI out = hn::Or(taken, hn::Or(full_row[i / 4], full_column[i % 4]));
    m[i] = hn::IfThenElse(out, hn::Set(I32(), -1), m[i]);
  }
}

// Bits 4 row + column of what greedy keep takes: at most eight entries, one per round.
HWY_INLINE VI greedy_bits(VI* m) {
  VI kept = hn::Zero(I32());
  for (int round = 0; round < 8; ++round) {
    VI best, bit;
    largest_entry(m, best, bit);
    kept = hn::Or(kept, hn::IfThenElseZero(hn::Gt(best, hn::Set(I32(), -1)), bit));
    drop_entries(kept, m);
  }
  return kept;
}

struct Best {
  VF score;
  VI bits;
};

template <std::size_t kPattern>
HWY_INLINE void try_pattern(const VF* top, const VF* bottom, Best& best) {
  constexpr TransposablePattern kThis = kTransposablePatterns[kPattern];
  const VF score = hn::Add(top[kThis.top], bottom[kThis.bottom]);
  const auto better = hn::RebindMask(I32(), hn::Gt(score, best.score));
  best.bits = hn::IfThenElse(better, hn::Set(I32(), kThis.bits), best.bits);
  best.score = hn::Max(best.score, score);
}

// Two chains side by side, because each step waits for the one before.
template <std::size_t... kIndex>
HWY_INLINE VI best_of_all(const VF* top, const VF* bottom, std::index_sequence<kIndex...>) {
  Best lower{set(-1.0f), hn::Zero(I32())}, upper = lower;
  ((try_pattern<kIndex>(top, bottom, lower), try_pattern<kIndex + 45>(top, bottom, upper)), ...);
  const auto upper_wins = hn::RebindMask(I32(), hn::Gt(upper.score, lower.score));
  return hn::IfThenElse(upper_wins, upper.bits, lower.bits);
}

// sums[k] = the k-th pair of the row's four magnitudes, one block per lane.
HWY_INLINE void pair_sums(const float* row, VF* sums) {
  VF x[4];
  hn::LoadInterleaved4(F32(), row, x[0], x[1], x[2], x[3]);
  for (VF& v : x) v = hn::BitCast(F32(), magnitude(v));
  for (int k = 0; k < 6; ++k) sums[k] = hn::Add(x[kKeptPairs[k].first], x[kKeptPairs[k].second]);
}

// halves[6 a + b] = pair a of the first row + pair b of the second.
HWY_INLINE void half_sums(const float* first_row, const float* second_row, VF* halves) {
  VF first[6], second[6];
  pair_sums(first_row, first);
  pair_sums(second_row, second);
  for (int a = 0; a < 6; ++a)
    for (int b = 0; b < 6; ++b) halves[6 * a + b] = hn::Add(first[a], second[b]);
}

// Bits 0 to 3 of each lane to the lowest bits of its four bytes.
HWY_INLINE VI spread_bits(VI v) {
  const VI two = hn::Or(v, hn::ShiftLeft<7>(v));
  return hn::And(hn::Or(two, hn::ShiftLeft<14>(two)), hn::Set(I32(), 0x0101'0101));
}

struct ExactSearch {
  static HWY_INLINE VI bits(const float* x, std::int64_t stride) {
    VF top[36], bottom[36];
    half_sums(x, x + stride, top);
    half_sums(x + 2 * stride, x + 3 * stride, bottom);
    return best_of_all(top, bottom, std::make_index_sequence<45>());
  }
};

struct GreedyKeep {
  static HWY_INLINE VI bits(const float* x, std::int64_t stride) {
    VI m[16];
    for (int row = 0; row < 4; ++row) {
      VF x0, x1, x2, x3;
      hn::LoadInterleaved4(F32(), x + row * stride, x0, x1, x2, x3);
      m[4 * row] = magnitude(x0), m[4 * row + 1] = magnitude(x1);
      m[4 * row + 2] = magnitude(x2), m[4 * row + 3] = magnitude(x3);
    }
    return greedy_bits(m);
  }
};

// As many neighbouring blocks as there are lanes.
template <class Method>
HWY_INLINE void search_blocks(const float* x, std::uint8_t* mask, std::int64_t stride) {
  VI bits = Method::bits(x, stride);
  for (int row = 0; row < 4; ++row) {
    const VI bytes = spread_bits(hn::And(bits, hn::Set(I32(), 0xF)));
    store_bytes(bytes, mask + row * stride);
    bits = hn::ShiftRight<4>(bits);
  }
}

template <class Method>
HWY_INLINE void search_row(const float* x, std::uint8_t* mask, std::int64_t stride,
                           std::int64_t cols) {
  constexpr std::int64_t kStep = 4 * lanes();
  std::int64_t c = 0;
  for (; c + kStep <= cols; c += kStep) search_blocks<Method>(x + c, mask + c, stride);
  if (c == cols) return;
  const auto rest = static_cast<std::size_t>(cols - c);
  float last[4][kStep] = {};
  std::uint8_t last_mask[4][kStep];
  for (int row = 0; row < 4; ++row)
    std::memcpy(last[row], x + row * stride + c, rest * sizeof(float));
  search_blocks<Method>(last[0], last_mask[0], kStep);
  for (int row = 0; row < 4; ++row) std::memcpy(mask + row * stride + c, last_mask[row], rest);
}

void exact_impl(const float* x, std::uint8_t* mask, std::int64_t stride, std::int64_t cols) {
  search_row<ExactSearch>(x, mask, stride, cols);
}
void greedy_impl(const float* x, std::uint8_t* mask, std::int64_t stride, std::int64_t cols) {
  search_row<GreedyKeep>(x, mask, stride, cols);
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(select_within_row_impl);
HWY_EXPORT(select_within_columns_impl);
HWY_EXPORT(exact_impl);
HWY_EXPORT(greedy_impl);

void select24_within_row(const float* x, std::uint8_t* mask, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(select_within_row_impl)(x, mask, n);
}
void select24_within_columns(const float* x, std::uint8_t* mask, std::int64_t stride,
                             std::int64_t cols) {
  HWY_DYNAMIC_DISPATCH(select_within_columns_impl)(x, mask, stride, cols);
}
void best_transposable24(const float* x, std::uint8_t* mask, std::int64_t stride,
                         std::int64_t cols) {
  HWY_DYNAMIC_DISPATCH(exact_impl)(x, mask, stride, cols);
}
void greedy_transposable24(const float* x, std::uint8_t* mask, std::int64_t stride,
                           std::int64_t cols) {
  HWY_DYNAMIC_DISPATCH(greedy_impl)(x, mask, stride, cols);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
