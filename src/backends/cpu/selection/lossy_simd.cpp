// SPDX-License-Identifier: Apache-2.0
// Soft threshold, MVUE sample and FP8 rounding in SIMD. No fused multiply-add: the bits are owed.
//
// Magnitudes are compared as the integers of their bits: the order is the same, and NaN has a place.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/selection/lossy_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/philox-inl.h"
#include "backends/cpu/selection/lossy_simd.h"
#include "backends/cpu/simd-inl.h"
#include "ops/selection/mvue24.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

using I32 = hn::RebindToSigned<F32>;
using VI = hn::Vec<I32>;
using MF = hn::Mask<F32>;

constexpr std::int32_t kInfinityBits = 0x7f80'0000;

HWY_INLINE VI magnitude_bits(VF x) { return hn::BitCast(I32(), hn::Abs(x)); }
HWY_INLINE VF float_of(VI bits) { return hn::BitCast(F32(), bits); }

// S of four vectors of group members, in place.
HWY_INLINE void soften(VF& x0, VF& x1, VF& x2, VF& x3, VF scale) {
  const VI infinity = hn::Set(I32(), kInfinityBits);
  const auto rank = [&](VF x) { return hn::Min(magnitude_bits(x), infinity); };
  const VI b0 = rank(x0), b1 = rank(x1), b2 = rank(x2), b3 = rank(x3);
  const VF t = float_of(hn::Min(hn::Max(hn::Min(b0, b1), hn::Min(b2, b3)),
                                hn::Min(hn::Max(b0, b1), hn::Max(b2, b3))));
  for (VF* x : {&x0, &x1, &x2, &x3}) {
    const VF rest = hn::Sub(hn::Abs(*x), t);
    // A rest that is NaN is not <= 0, and stays.
    *x = hn::IfThenZeroElse(hn::Le(rest, zero()), hn::Mul(hn::CopySign(rest, *x), scale));
  }
}

void soft_row_impl(const float* x, float* y, float scale, std::int64_t count) {
  const F32 d;
  constexpr std::int64_t N = lanes();
  VF x0, x1, x2, x3;
  std::int64_t i = 0;
  for (; i + 4 * N <= count; i += 4 * N) {
    hn::LoadInterleaved4(d, x + i, x0, x1, x2, x3);
    soften(x0, x1, x2, x3, set(scale));
    hn::StoreInterleaved4(x0, x1, x2, x3, d, y + i);
  }
  if (i == count) return;
  HWY_ALIGN float buffer[4 * hn::MaxLanes(F32())] = {};
  const auto bytes = static_cast<std::size_t>(count - i) * sizeof(float);
  std::memcpy(buffer, x + i, bytes);
  hn::LoadInterleaved4(d, buffer, x0, x1, x2, x3);
  soften(x0, x1, x2, x3, set(scale));
  hn::StoreInterleaved4(x0, x1, x2, x3, d, buffer);
  std::memcpy(y + i, buffer, bytes);
}

void soft_columns_impl(const float* x, float* y, float scale, std::int64_t stride,
                       std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lanes()) {
    const std::int64_t left = count - i;
    VF x0 = load(x + i, left), x1 = load(x + stride + i, left);
    VF x2 = load(x + 2 * stride + i, left), x3 = load(x + 3 * stride + i, left);
    soften(x0, x1, x2, x3, set(scale));
    store(x0, y + i, left);
    store(x1, y + stride + i, left);
    store(x2, y + 2 * stride + i, left);
    store(x3, y + 3 * stride + i, left);
  }
}

// A vector of groups: one channel per lane.
struct Groups {
  // Written out: g++ makes one without the target's options, which cannot call Arm's vectors.
  HWY_INLINE Groups() {}

  VF x[4];
  MF kept[4];
};

// Groups that are not finite go through the scalar law, which keeps their largest two.
HWY_NOINLINE void sample_one_by_one(Groups& groups) {
  constexpr std::size_t N = hn::MaxLanes(F32());
  const F32 d;
  HWY_ALIGN float x[4][N], kept[4][N];
  for (int k = 0; k < 4; ++k) hn::Store(groups.x[k], d, x[k]);
  for (std::size_t lane = 0; lane < N; ++lane) {
    const float group[4] = {x[0][lane], x[1][lane], x[2][lane], x[3][lane]};
    const MvuePair<float> pair = mvue24_exact(group, 0.0f);  // nothing is drawn of these
    for (int k = 0; k < 4; ++k) {
      x[k][lane] = pair.value_at(k);
      kept[k][lane] = pair.keeps(k) ? 1.0f : 0.0f;
    }
  }
  for (int k = 0; k < 4; ++k) {
    groups.x[k] = hn::Load(d, x[k]);
    groups.kept[k] = hn::Ne(hn::Load(d, kept[k]), zero());
  }
}

// The law kExact. With i and j as in the contract: i is 0 unless past_0, 2 if past_1; j is 1 unless
// reaches_1, 3 if reaches_2. As past_1 implies past_0 and reaches_1, the four "kept" below are what
// is left of the cases, i = j included.
HWY_INLINE void sample(Groups& groups, VF u) {
  const VI b0 = magnitude_bits(groups.x[0]), b1 = magnitude_bits(groups.x[1]);
  const VI b2 = magnitude_bits(groups.x[2]), b3 = magnitude_bits(groups.x[3]);
  const VI max01 = hn::Max(b0, b1), max23 = hn::Max(b2, b3), max = hn::Max(max01, max23);
  const VF rest = hn::Add(hn::Add(float_of(hn::Min(b0, b1)), float_of(hn::Min(b2, b3))),
                          float_of(hn::Min(max01, max23)));
  const VF cap = hn::IfThenElse(hn::Eq(rest, zero()), set(0x1p-126f), rest);
  const VF h = hn::Mul(hn::Add(rest, hn::Min(float_of(max), cap)), set(0.5f));
  const VF c0 = hn::Min(float_of(b0), cap);
  const VF c1 = hn::Add(c0, hn::Min(float_of(b1), cap));
  const VF c2 = hn::Add(c1, hn::Min(float_of(b2), cap));
  const VF t1 = hn::Mul(u, h), t2 = hn::Add(t1, h);
  const MF past_0 = hn::Le(c0, t1), past_1 = hn::Le(c1, t1);
  const MF reaches_1 = hn::Le(c1, t2), reaches_2 = hn::Le(c2, t2);
  Groups out;
  out.kept[0] = hn::Not(hn::And(past_0, reaches_1));
  out.kept[1] =
      hn::Or(hn::Or(hn::Not(reaches_1), hn::AndNot(past_1, past_0)), hn::AndNot(reaches_2, past_1));
  out.kept[2] = hn::Or(past_1, hn::AndNot(reaches_2, reaches_1));
  out.kept[3] = reaches_2;
  for (int k = 0; k < 4; ++k) {
    const VF x = groups.x[k];
    const VF value = hn::CopySign(hn::Max(hn::Abs(x), h), x);
    out.x[k] = hn::IfThenElseZero(hn::And(out.kept[k], hn::Ne(x, zero())), value);
  }
  const auto damaged = hn::RebindMask(F32(), hn::Gt(max, hn::Set(I32(), kInfinityBits - 1)));
  if (HWY_UNLIKELY(!hn::AllFalse(F32(), damaged))) {
    sample_one_by_one(groups);
    for (int k = 0; k < 4; ++k) {
      out.x[k] = hn::IfThenElse(damaged, groups.x[k], out.x[k]);
      out.kept[k] = hn::Or(hn::And(damaged, groups.kept[k]), hn::AndNot(damaged, out.kept[k]));
    }
  }
  groups = out;
}

HWY_INLINE void store_mask(MF kept, std::uint8_t* to, std::int64_t count) {
  const hn::Rebind<std::uint8_t, F32> d8;
  const VI ones = hn::IfThenElseZero(hn::RebindMask(I32(), kept), hn::Set(I32(), 1));
  HWY_ALIGN std::uint8_t buffer[hn::MaxLanes(F32())];
  hn::StoreU(hn::DemoteTo(d8, ones), d8, buffer);
  std::memcpy(to, buffer, static_cast<std::size_t>(count < lanes() ? count : lanes()));
}

constexpr std::int64_t kChunk = 256;  // channels whose words wait on the stack: 4 KB

// words[w][c - begin] belongs to group w of the block and channel c.
using Words = std::uint32_t[4][kChunk];

#if HWY_TARGET == HWY_SCALAR

void draw_words(const MvueBlock& p, std::int64_t block, std::int64_t begin, Words& words) {
  for (std::int64_t c = 0; c < kChunk; ++c) {
    const Philox4 four = philox4x32(
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(begin + c), p.step, p.tag},
        static_cast<std::uint32_t>(p.seed), static_cast<std::uint32_t>(p.seed >> 32));
    for (std::size_t w = 0; w < 4; ++w) words[w][c] = four[w];
  }
}

#else

HWY_INLINE PhiloxLanes words_of(const MvueBlock& p, std::int64_t block, VU64 channels) {
  const U64 d;
  return philox_lanes({hn::Set(d, static_cast<std::uint32_t>(block)), channels, hn::Set(d, p.step),
                       hn::Set(d, p.tag)},
                      p.seed);
}

void draw_words(const MvueBlock& p, std::int64_t block, std::int64_t begin, Words& words) {
  const U64 d;
  const VU64 steps = hn::ShiftLeft<1>(hn::Iota(d, 0));
  for (std::int64_t c = 0; c < kChunk; c += lanes()) {
    const VU64 even = hn::Add(hn::Set(d, static_cast<std::uint64_t>(begin + c)), steps);
    const PhiloxLanes a = words_of(p, block, even);
    const PhiloxLanes b = words_of(p, block, hn::Add(even, hn::Set(d, 1)));
    const auto put = [&](int w, VU64 words_a, VU64 words_b) {
      hn::Store(hn::BitCast(U32(), join_lower(words_a, words_b)), U32(), words[w] + c);
    };
    put(0, a.c0, b.c0);
    put(1, a.c1, b.c1);
    put(2, a.c2, b.c2);
    put(3, a.c3, b.c3);
  }
}

#endif  // HWY_SCALAR

// Four tokens from `token` on, channels [begin, end).
HWY_INLINE void sample_rows(const MvueBlock& p, std::int64_t token, std::int64_t begin,
                            std::int64_t end, const std::uint32_t* words) {
  const std::int64_t rows = HWY_MIN(std::int64_t{4}, p.tokens - token);
  for (std::int64_t c = begin; c < end; c += lanes()) {
    const std::int64_t at = token * p.channels + c, left = end - c;
    Groups groups;
    for (std::int64_t k = 0; k < 4; ++k)
      groups.x[k] = k < rows ? load(p.x + at + k * p.channels, left) : zero();
    const auto bits = hn::ShiftRight<9>(hn::Load(hn::RebindToUnsigned<F32>(), words + c - begin));
    const VF u = hn::Mul(hn::ConvertTo(F32(), hn::BitCast(I32(), bits)), set(0x1p-23f));
    sample(groups, u);
    for (std::int64_t k = 0; k < rows; ++k) {
      store(groups.x[k], p.y + at + k * p.channels, left);
      if (p.mask != nullptr) store_mask(groups.kept[k], p.mask + at + k * p.channels, left);
    }
  }
}

void mvue24_impl(const MvueBlock& p, std::int64_t block) {
  HWY_ALIGN Words words;
  for (std::int64_t begin = 0; begin < p.channels; begin += kChunk) {
    const std::int64_t end = HWY_MIN(begin + kChunk, p.channels);
    draw_words(p, p.first_block + block, begin, words);
    for (std::int64_t w = 0; w < 4 && 16 * block + 4 * w < p.tokens; ++w)
      sample_rows(p, 16 * block + 4 * w, begin, end, words[w]);
  }
}

std::uint32_t largest_bits_impl(const float* x, std::int64_t count) {
  VI max = hn::Zero(I32());
  for (std::int64_t i = 0; i < count; i += lanes())
    max = hn::Max(max, magnitude_bits(load(x + i, count - i)));
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(I32(), max)));
}

// As to_fp8 and back, without the code in between: normal numbers lose their last bits by an
// integer addition, smaller ones by an addition that pushes them out.
HWY_INLINE VF round_to_fp8(VF x, const Fp8Rounding& r) {
  const int shift = 23 - r.fraction_bits;
  const VI bits = magnitude_bits(x), one = hn::Set(I32(), 1);
  const VI odd = hn::And(hn::ShiftRightSame(bits, shift), one);
  const VI half = hn::Set(I32(), (1 << (shift - 1)) - 1);
  const VI kept = hn::Set(I32(), -(1 << shift));
  const VF normal = float_of(hn::And(hn::Add(bits, hn::Add(half, odd)), kept));
  const VF last_bit = set(r.last_bit);
  const VF small = hn::Sub(hn::Add(float_of(bits), last_bit), last_bit);
  const MF is_small = hn::Lt(float_of(bits), set(r.min_normal));
  return hn::CopySign(hn::Min(hn::IfThenElse(is_small, small, normal), set(r.max)), x);
}

void fp8_round_impl(const Fp8Rounding& r, const float* x, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lanes()) {
    const VF scaled = hn::Mul(load(x + i, count - i), set(r.scale));
    store(hn::Div(round_to_fp8(scaled, r), set(r.scale)), y + i, count - i);
  }
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(fp8_round_impl);
HWY_EXPORT(largest_bits_impl);
HWY_EXPORT(mvue24_impl);
HWY_EXPORT(soft_columns_impl);
HWY_EXPORT(soft_row_impl);

void soft_threshold24_row(const float* x, float* y, float scale, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(soft_row_impl)(x, y, scale, count);
}
void soft_threshold24_columns(const float* x, float* y, float scale, std::int64_t stride,
                              std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(soft_columns_impl)(x, y, scale, stride, count);
}
void mvue24_block(const MvueBlock& problem, std::int64_t block) {
  HWY_DYNAMIC_DISPATCH(mvue24_impl)(problem, block);
}
std::uint32_t largest_bits(const float* x, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(largest_bits_impl)(x, count);
}
void fp8_round_range(const Fp8Rounding& rounding, const float* x, float* y, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(fp8_round_impl)(rounding, x, y, count);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
