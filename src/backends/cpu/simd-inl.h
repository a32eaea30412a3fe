// SPDX-License-Identifier: Apache-2.0
// Small Highway helpers shared by the *_simd.cpp files: loads and stores that stop at the end of an
// array, and sums. Compiled once per target, hence the unusual include guard.
#if defined(TWILL_BACKENDS_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TWILL_BACKENDS_CPU_SIMD_INL_H_
#undef TWILL_BACKENDS_CPU_SIMD_INL_H_
#else
#define TWILL_BACKENDS_CPU_SIMD_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using VF = hn::Vec<F32>;

// Lanes of a vector, as the signed type of all our indices.
HWY_INLINE constexpr std::int64_t lanes() { return static_cast<std::int64_t>(hn::MaxLanes(F32())); }

// The first min(count, lanes) elements; other lanes are zero. count > 0.
HWY_INLINE VF load(const float* from, std::int64_t count) {
  const F32 d;
  if (HWY_LIKELY(count >= lanes())) return hn::LoadU(d, from);
  HWY_ALIGN float buffer[hn::MaxLanes(F32())] = {};
  std::memcpy(buffer, from, static_cast<std::size_t>(count) * sizeof(float));
  return hn::Load(d, buffer);
}

// Stores the first min(count, lanes) lanes. count > 0.
HWY_INLINE void store(VF v, float* to, std::int64_t count) {
  const F32 d;
  if (HWY_LIKELY(count >= lanes())) return hn::StoreU(v, d, to);
  HWY_ALIGN float buffer[hn::MaxLanes(F32())];
  hn::Store(v, d, buffer);
  std::memcpy(to, buffer, static_cast<std::size_t>(count) * sizeof(float));
}

HWY_INLINE VF set(float value) { return hn::Set(F32(), value); }
HWY_INLINE VF zero() { return hn::Zero(F32()); }

// v in the first `count` lanes, `other` in the rest.
HWY_INLINE VF first_lanes(VF v, std::int64_t count, VF other) {
  if (HWY_LIKELY(count >= lanes())) return v;
  return hn::IfThenElse(hn::FirstN(F32(), static_cast<std::size_t>(count)), v, other);
}

HWY_INLINE float sum_of_lanes(VF v) { return hn::GetLane(hn::SumOfLanes(F32(), v)); }
HWY_INLINE float max_of_lanes(VF v) { return hn::GetLane(hn::MaxOfLanes(F32(), v)); }

// Σ term(i, count) over the vectors that start at i = 0, lanes, 2 lanes, …; `count` elements are
// left. Four sums run side by side to hide the latency of an addition.
template <class Term>
HWY_INLINE float sum_over(std::int64_t n, const Term& term) {
  constexpr std::int64_t N = lanes();
  VF s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();
  std::int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N) {
    s0 = hn::Add(s0, term(i, N));
    s1 = hn::Add(s1, term(i + N, N));
    s2 = hn::Add(s2, term(i + 2 * N, N));
    s3 = hn::Add(s3, term(i + 3 * N, N));
  }
  for (; i < n; i += N) s0 = hn::Add(s0, first_lanes(term(i, n - i), n - i, zero()));
  return sum_of_lanes(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
