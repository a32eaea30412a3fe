// SPDX-License-Identifier: Apache-2.0
// The best two of a window: its maximum, the first lane that has it, and both once more without
// that lane. The first lane of each window comes from the bits of a comparison: e & ~(e - 1) within
// each window's bits, in which at least one is set, so that no borrow leaves them.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/selection/venom_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/selection/venom_simd.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

using I32 = hn::RebindToSigned<F32>;
using VI = hn::Vec<I32>;
constexpr std::int32_t kInfBits = 0x7F80'0000;

HWY_INLINE VI magnitude_bits(VF x) {
  const I32 d;
  const VI bits = hn::And(hn::BitCast(d, x), hn::Set(d, 0x7FFF'FFFF));
  return hn::Min(bits, hn::Set(d, kInfBits));
}

void add_magnitudes_impl(const float* x, float* sums, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const VF size = hn::BitCast(F32(), magnitude_bits(load(x + i, n - i)));
    store(hn::Add(load(sums + i, n - i), size), sums + i, n - i);
  }
}

// A window is a part of a vector, or several vectors; a step is whole windows and whole vectors.
template <std::int64_t kM>
struct Step {
  static constexpr std::int64_t kLanes = hn::MaxLanes(F32());
  static constexpr std::int64_t kColumns = kM > kLanes ? kM : kLanes;
  static constexpr int kVectors = static_cast<int>(kColumns / kLanes);
  static constexpr std::int64_t kInVector = kM < kLanes ? kM : kLanes;

  // Written out: g++ makes one without the target's options, which cannot call Arm's vectors.
  HWY_INLINE Step() {}

  VI sizes[kVectors];

  // The maximum of every window, in all of its lanes.
  HWY_INLINE VI maximum() const {
    VI top = sizes[0];
    HWY_UNROLL(4)
    for (int v = 1; v < kVectors; ++v) top = hn::Max(top, sizes[v]);
#if HWY_TARGET != HWY_SCALAR
    if constexpr (kInVector >= 2) top = hn::Max(top, hn::Shuffle2301(top));
    if constexpr (kInVector >= 4) top = hn::Max(top, hn::Shuffle1032(top));
#if HWY_TARGET <= HWY_AVX2
    if constexpr (kInVector >= 8) top = hn::Max(top, hn::SwapAdjacentBlocks(top));
#endif
#if HWY_TARGET <= HWY_AVX3
    if constexpr (kInVector >= 16) top = hn::Max(top, hn::ReverseBlocks(I32(), top));
#endif
#endif
    return top;
  }

  // One bit per column in which sizes[] equal `value`.
  HWY_INLINE std::uint32_t bits_equal(VI value) const {
    std::uint32_t bits = 0;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(I32(), hn::Eq(sizes[v], value), bytes);
      std::uint32_t part = 0;
      std::memcpy(&part, bytes, sizeof part);
      bits |= part << (v * kLanes);
    }
    return bits;
  }

  HWY_INLINE static std::uint32_t first_of_windows(std::uint32_t bits) {
    constexpr std::uint32_t kOnes = kM == 4 ? 0x1111'1111u : kM == 8 ? 0x0101'0101u : 0x0001'0001u;
    constexpr std::uint32_t kUsed = kColumns == 32 ? ~0u : (1u << kColumns) - 1u;
    return bits & ~(bits - (kOnes & kUsed));
  }

  HWY_INLINE void remove(std::uint32_t bits) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t part = bits >> (v * kLanes);
      std::uint8_t bytes[8] = {};
      std::memcpy(bytes, &part, sizeof part);
      sizes[v] = hn::IfThenZeroElse(hn::LoadMaskBits(I32(), bytes), sizes[v]);
    }
  }

  // One bit per column that is kept. A window of zeros has zeros for maxima: it keeps nothing.
  HWY_INLINE std::uint32_t keep_two() {
    const VI none = hn::Zero(I32());
    const std::uint32_t zeros = bits_equal(none);
    const std::uint32_t first = first_of_windows(bits_equal(maximum()));
    remove(first);
    const std::uint32_t second = first_of_windows(bits_equal(maximum()));
    return (first | second) & ~zeros;
  }
};

// Eight bytes of 0 or 1 from eight bits.
HWY_INLINE std::uint64_t bytes_of_bits(std::uint32_t bits) {
  const std::uint64_t spread = (bits & 0xFFu) * 0x0101'0101'0101'0101u & 0x8040'2010'0804'0201u;
  return (spread + 0x7F7F'7F7F'7F7F'7F7Fu) >> 7 & 0x0101'0101'0101'0101u;
}

HWY_INLINE void store_bits(std::uint32_t bits, std::uint8_t* mask, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 8) {
    const std::uint64_t bytes = bytes_of_bits(bits >> i);
    if (HWY_LIKELY(count - i >= 8)) {
      std::memcpy(mask + i, &bytes, 8);
    } else {
      std::memcpy(mask + i, &bytes, static_cast<std::size_t>(count - i));
    }
  }
}

template <std::int64_t kM>
void keep_in_windows(const float* x, const std::int32_t* live, std::uint8_t* mask, std::int64_t n) {
  using S = Step<kM>;
  std::int64_t i = 0;
  S step;
  for (; i + S::kColumns <= n; i += S::kColumns) {
    HWY_UNROLL(4)
    for (int v = 0; v < S::kVectors; ++v) {
      const std::int64_t at = i + v * S::kLanes;
      step.sizes[v] =
          hn::And(magnitude_bits(hn::LoadU(F32(), x + at)), hn::LoadU(I32(), live + at));
    }
    store_bits(step.keep_two(), mask + i, S::kColumns);
  }
  if (i == n) return;
  // The rest, as if zeros followed.
  HWY_ALIGN float rest[S::kColumns] = {};
  HWY_ALIGN std::int32_t rest_live[S::kColumns] = {};
  std::copy_n(x + i, n - i, rest);
  std::copy_n(live + i, n - i, rest_live);
  HWY_UNROLL(4)
  for (int v = 0; v < S::kVectors; ++v) {
    const VF part = hn::Load(F32(), rest + v * S::kLanes);
    step.sizes[v] = hn::And(magnitude_bits(part), hn::Load(I32(), rest_live + v * S::kLanes));
  }
  store_bits(step.keep_two(), mask + i, n - i);
}

void keep_two_in_windows_impl(const float* x, const std::int32_t* live, std::uint8_t* mask,
                              std::int64_t n, std::int64_t m) {
  if (m == 4) return keep_in_windows<4>(x, live, mask, n);
  if (m == 8) return keep_in_windows<8>(x, live, mask, n);
  keep_in_windows<16>(x, live, mask, n);
}

// losses[k] = how many of the others beat row k: of equal sizes the upper row wins.
HWY_INLINE void keep_four(const VI (&size)[4], VI (&keep)[4]) {
  const I32 d;
  const VI one = hn::Set(d, 1);
  VI losses[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    HWY_UNROLL(4)
    for (int j = i + 1; j < 4; ++j) {
      const VI later_wins = hn::VecFromMask(d, hn::Gt(size[j], size[i]));  // -1 or 0
      losses[i] = hn::Sub(losses[i], later_wins);
      losses[j] = hn::Add(losses[j], hn::Add(one, later_wins));
    }
  }
  HWY_UNROLL(4)
  for (int k = 0; k < 4; ++k)
    keep[k] = hn::IfThenElseZero(
        hn::And(hn::Gt(hn::Set(d, 2), losses[k]), hn::Gt(size[k], hn::Zero(d))), one);
}

void keep_two_of_rows_impl(const FourRows& rows, std::int64_t n) {
  const hn::RebindToUnsigned<I32> du;
  const hn::Rebind<std::uint8_t, I32> db;
  for (std::int64_t i = 0; i < n; i += lanes()) {
    VI size[4], keep[4];
    HWY_UNROLL(4)
    for (int k = 0; k < 4; ++k) size[k] = magnitude_bits(load(rows.x[k] + i, n - i));
    keep_four(size, keep);
    HWY_UNROLL(4)
    for (int k = 0; k < 4; ++k) {
      HWY_ALIGN std::uint8_t bytes[hn::MaxLanes(F32())];
      hn::Store(hn::TruncateTo(db, hn::BitCast(du, keep[k])), db, bytes);
      std::memcpy(rows.mask[k] + i, bytes, static_cast<std::size_t>(std::min(lanes(), n - i)));
    }
  }
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(add_magnitudes_impl);
HWY_EXPORT(keep_two_in_windows_impl);
HWY_EXPORT(keep_two_of_rows_impl);

void add_magnitudes(const float* x, float* sums, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_magnitudes_impl)(x, sums, n);
}
void keep_two_in_windows(const float* x, const std::int32_t* live, std::uint8_t* mask,
                         std::int64_t n, std::int64_t m) {
  HWY_DYNAMIC_DISPATCH(keep_two_in_windows_impl)(x, live, mask, n, m);
}
void keep_two_of_rows(const FourRows& rows, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(keep_two_of_rows_impl)(rows, n);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
