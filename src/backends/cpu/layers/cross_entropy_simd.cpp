// SPDX-License-Identifier: Apache-2.0
// A row of cross-entropy in SIMD: maximum, exp and sum, gradient. It (200 KB at a vocabulary of
// 50257) stays in the second-level cache between its passes.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/layers/cross_entropy_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "backends/cpu/layers/cross_entropy_simd.h"
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

HWY_INLINE float max_over(const float* x, std::int64_t n) {
  constexpr std::int64_t N = lanes();
  const VF lowest = set(-std::numeric_limits<float>::infinity());
  VF m0 = lowest, m1 = lowest, m2 = lowest, m3 = lowest;
  std::int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N) {
    m0 = hn::Max(m0, load(x + i, N));
    m1 = hn::Max(m1, load(x + i + N, N));
    m2 = hn::Max(m2, load(x + i + 2 * N, N));
    m3 = hn::Max(m3, load(x + i + 3 * N, N));
  }
  for (; i < n; i += N) m0 = hn::Max(m0, first_lanes(load(x + i, n - i), n - i, lowest));
  return max_of_lanes(hn::Max(hn::Max(m0, m1), hn::Max(m2, m3)));
}

// e[i] = exp(x[i] - max) unless e is nullptr; returns the sum. e may be x.
HWY_INLINE float exp_and_sum(const float* x, std::int64_t n, float max, float* e) {
  const VF shift = set(max);
  return sum_over(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const VF v = exp_negative(hn::Sub(load(x + i, count), shift));
    if (e != nullptr) store(v, e + i, count);
    return v;
  });
}

HWY_INLINE void scale_row(float* x, std::int64_t n, float factor) {
  for (std::int64_t i = 0; i < n; i += lanes())
    store(hn::Mul(load(x + i, n - i), set(factor)), x + i, n - i);
}

float cross_entropy_row_impl(const float* logits, std::int64_t target, std::int64_t n,
                             float* dlogits, double scale) {
  const float max = max_over(logits, n), at_target = logits[target];
  const double sum = exp_and_sum(logits, n, max, dlogits);
  if (dlogits != nullptr) {
    const double p = dlogits[target] / sum;
    scale_row(dlogits, n, static_cast<float>(scale / sum));
    dlogits[target] = static_cast<float>(scale * (p - 1.0));
  }
  return static_cast<float>(std::log(sum) + (static_cast<double>(max) - at_target));
}

std::int32_t largest_id_impl(const float* x, std::int64_t n) {
  const float max = max_over(x, n);
  std::int64_t id = 0;
  while (id + 1 < n && !(x[id] == max)) ++id;
  return static_cast<std::int32_t>(id);
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(cross_entropy_row_impl);
HWY_EXPORT(largest_id_impl);

float cross_entropy_row(const float* logits, std::int64_t target, std::int64_t n, float* dlogits,
                        double scale) {
  return HWY_DYNAMIC_DISPATCH(cross_entropy_row_impl)(logits, target, n, dlogits, scale);
}

std::int32_t largest_id(const float* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(largest_id_impl)(x, n);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
