// SPDX-License-Identifier: Apache-2.0
// Philox in SIMD: one counter per 64-bit lane. Each 32-bit word sits in the lower half of a lane;
// upper halves hold leftovers that no product reads. Compiled once per target, hence the unusual
// include guard.
#if defined(TWILL_BACKENDS_CPU_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TWILL_BACKENDS_CPU_PHILOX_INL_H_
#undef TWILL_BACKENDS_CPU_PHILOX_INL_H_
#else
#define TWILL_BACKENDS_CPU_PHILOX_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "backends/cpu/simd-inl.h"
#include "base/rng.h"

#if HWY_TARGET != HWY_SCALAR  // 32 x 32 -> 64 bit products need more than one lane

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {

using U64 = hn::ScalableTag<std::uint64_t>;
using U32 = hn::Repartition<std::uint32_t, U64>;
using VU64 = hn::Vec<U64>;
using VU32 = hn::Vec<U32>;

// 64 bits of m times the lower half of each lane.
HWY_INLINE VU64 multiply_lower(VU64 m, VU64 v) {
  return hn::MulEven(hn::BitCast(U32(), m), hn::BitCast(U32(), v));
}

struct PhiloxLanes {
  VU64 c0, c1, c2, c3;
};

HWY_INLINE PhiloxLanes philox_lanes(PhiloxLanes c, std::uint64_t seed) {
  const U64 d;
  const VU64 m0 = hn::Set(d, detail::kPhiloxM0), m1 = hn::Set(d, detail::kPhiloxM1);
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const VU64 p0 = multiply_lower(m0, c.c0), p1 = multiply_lower(m1, c.c2);
    c.c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c.c1), hn::Set(d, key0));
    c.c1 = p1;
    c.c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c.c3), hn::Set(d, key1));
    c.c3 = p0;
    key0 += detail::kPhiloxW0;
    key1 += detail::kPhiloxW1;
  }
  return c;
}

// The lower halves of `even` and `odd`, by turns.
HWY_INLINE VU64 join_lower(VU64 even, VU64 odd) {
  return hn::Or(hn::And(even, hn::Set(U64(), 0xFFFF'FFFFu)), hn::ShiftLeft<32>(odd));
}

}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR

#endif  // per-target include guard
