// SPDX-License-Identifier: Apache-2.0
// A set is built in lanes of 32 bits and cut down to a byte; sets are counted by comparing all of
// them with each of the fifteen.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/packing/pack_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/packing/pack_simd.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

using U32 = hn::RebindToUnsigned<F32>;
using VU = hn::Vec<U32>;
using Bytes = hn::ScalableTag<std::uint8_t>;

// `bit` in the lanes that are not 0. NaN is not 0.
HWY_INLINE VU bit_where_kept(VF v, std::uint32_t bit) {
  const U32 d;
  const auto is_zero = hn::RebindMask(d, hn::Eq(v, zero()));
  return hn::IfThenZeroElse(is_zero, hn::Set(d, bit));
}

std::int64_t count_kept_floats_impl(const float* x, std::int64_t n) {
  const U32 d;
  VU sums[2] = {hn::Zero(d), hn::Zero(d)};
  std::int64_t i = 0;
  for (; i + 2 * lanes() <= n; i += 2 * lanes())
    for (int k = 0; k < 2; ++k)
      sums[k] = hn::Add(sums[k], bit_where_kept(hn::LoadU(F32(), x + i + k * lanes()), 1));
  for (; i < n; i += lanes()) sums[0] = hn::Add(sums[0], bit_where_kept(load(x + i, n - i), 1));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[0], sums[1])));
}

void find_sets_impl(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                    std::uint8_t* sets) {
  const hn::Rebind<std::uint8_t, F32> db;
  for (std::int64_t c = 0; c < cols; c += lanes()) {
    VU set_of = hn::Zero(U32());
    for (std::int64_t row = 0; row < rows; ++row)
      set_of = hn::Or(set_of, bit_where_kept(load(x + row * stride + c, cols - c), 1u << row));
    HWY_ALIGN std::uint8_t bytes[hn::MaxLanes(F32())];
    hn::Store(hn::TruncateTo(db, set_of), db, bytes);
    std::memcpy(sets + c, bytes, static_cast<std::size_t>(std::min(lanes(), cols - c)));
  }
}

void count_sets_impl(const std::uint8_t* sets, std::int64_t cols, std::uint16_t (&counts)[16]) {
  const Bytes d;
  constexpr auto kBytes = static_cast<std::int64_t>(hn::MaxLanes(Bytes()));
  static_assert(kBytes <= kSetPadding);
  std::fill_n(counts, 16, std::uint16_t{0});
  for (std::int64_t c = 0; c < cols; c += kBytes) {
    const auto some = hn::LoadU(d, sets + c);
    for (unsigned set_of = 1; set_of < 16; ++set_of) {
      const auto equal = hn::Eq(some, hn::Set(d, static_cast<std::uint8_t>(set_of)));
      counts[set_of] = static_cast<std::uint16_t>(counts[set_of] + hn::CountTrue(d, equal));
    }
  }
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(count_kept_floats_impl);
HWY_EXPORT(find_sets_impl);
HWY_EXPORT(count_sets_impl);

std::int64_t count_kept_floats(const float* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(count_kept_floats_impl)(x, n);
}
void find_sets(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols,
               std::uint8_t* sets) {
  HWY_DYNAMIC_DISPATCH(find_sets_impl)(x, stride, rows, cols, sets);
}
void count_sets(const std::uint8_t* sets, std::int64_t cols, std::uint16_t (&counts)[16]) {
  HWY_DYNAMIC_DISPATCH(count_sets_impl)(sets, cols, counts);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
