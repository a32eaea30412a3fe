// SPDX-License-Identifier: Apache-2.0
// Loops with masks in SIMD. Bytes of a mask are widened to lanes; a vector is loaded before its
// place is stored to.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/selection/mask_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "backends/cpu/selection/mask_simd.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

using I32 = hn::RebindToSigned<F32>;
using U8 = hn::Rebind<std::uint8_t, F32>;  // as many bytes as a vector has floats

HWY_INLINE hn::Vec<I32> load_bytes(const std::uint8_t* from, std::int64_t count) {
  if (HWY_LIKELY(count >= lanes())) return hn::PromoteTo(I32(), hn::LoadU(U8(), from));
  std::uint8_t last[hn::MaxLanes(F32())] = {};
  std::memcpy(last, from, static_cast<std::size_t>(count));
  return hn::PromoteTo(I32(), hn::LoadU(U8(), last));
}

HWY_INLINE hn::Mask<F32> is_zero(hn::Vec<I32> bytes) {
  return hn::RebindMask(F32(), hn::Eq(bytes, hn::Zero(I32())));
}

void keep_masked_impl(const float* x, const std::uint8_t* mask, const std::uint8_t* columns,
                      float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += lanes()) {
    auto keep = load_bytes(mask + i, n - i);
    if (columns != nullptr) keep = hn::Or(keep, load_bytes(columns + i, n - i));
    store(hn::IfThenZeroElse(is_zero(keep), load(x + i, n - i)), y + i, n - i);
  }
}

void decay_masked_impl(const DecayRange& range, std::int64_t n) {
  const VF scale = set(range.scale), rate = set(range.rate);
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const VF scaled = hn::Mul(scale, load(range.target + i, n - i));
    const VF pulled = hn::Add(scaled, hn::Mul(rate, load(range.weight + i, n - i)));
    const auto pruned = is_zero(load_bytes(range.mask + i, n - i));
    store(hn::IfThenElse(pruned, pulled, scaled), range.target + i, n - i);
  }
}

// Counts in bytes for at most 255 vectors, then adds them up.
std::int64_t count_different_impl(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n) {
  const hn::ScalableTag<std::uint8_t> d;
  using D = decltype(d);
  constexpr auto kBytes = static_cast<std::int64_t>(hn::MaxLanes(D()));
  std::int64_t total = 0, i = 0;
  while (i + kBytes <= n) {
    auto equal = hn::Zero(d);
    const std::int64_t begin = i, end = std::min(n - kBytes, i + 254 * kBytes);
    for (; i <= end; i += kBytes)
      equal = hn::Sub(equal, hn::VecFromMask(d, hn::Eq(hn::LoadU(d, a + i), hn::LoadU(d, b + i))));
    std::uint8_t counts[hn::MaxLanes(D())];
    hn::StoreU(equal, d, counts);
    total += i - begin;
    for (const std::uint8_t count : counts) total -= count;
  }
  for (; i < n; ++i) total += a[i] != b[i];
  return total;
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(keep_masked_impl);
HWY_EXPORT(decay_masked_impl);
HWY_EXPORT(count_different_impl);

void keep_masked(const float* x, const std::uint8_t* mask, const std::uint8_t* columns, float* y,
                 std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(keep_masked_impl)(x, mask, columns, y, n);
}
void decay_masked(const DecayRange& range, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(decay_masked_impl)(range, n);
}
std::int64_t count_different(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(count_different_impl)(a, b, n);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
