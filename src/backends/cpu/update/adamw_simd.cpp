// SPDX-License-Identifier: Apache-2.0
// AdamW in SIMD: one division and one square root per element hide behind 28 B of memory traffic.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/update/adamw_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/simd-inl.h"
#include "backends/cpu/update/adamw_simd.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

template <bool kFreezeV>
HWY_INLINE void adamw_loop(const AdamwCoefficients& c, const AdamwTensors& t, std::int64_t begin,
                           std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += lanes()) {
    const std::int64_t count = end - i;
    const VF g = hn::Mul(load(t.grad + i, count), set(c.grad_scale));
    const VF m = hn::MulAdd(load(t.m + i, count), set(c.beta1), hn::Mul(g, set(c.one_minus_beta1)));
    VF v = load(t.v + i, count), v_hat = v;
    if constexpr (!kFreezeV) {
      v = hn::MulAdd(v, set(c.beta2), hn::Mul(hn::Mul(g, g), set(c.one_minus_beta2)));
      v_hat = hn::Mul(v, set(c.inverse_correction2));
    }
    const VF w = load(t.weight + i, count);
    const VF root = hn::Sqrt(v_hat);
    const VF update = hn::Div(hn::Mul(m, set(c.inverse_correction1)), hn::Add(root, set(c.eps)));
    const VF change = hn::MulAdd(set(c.weight_decay), w, update);
    store(hn::NegMulAdd(set(c.lr), change, w), t.weight + i, count);
    store(m, t.m + i, count);
    if constexpr (!kFreezeV) store(v, t.v + i, count);
  }
}

void adamw_impl(const AdamwCoefficients& c, const AdamwTensors& t, std::int64_t begin,
                std::int64_t end) {
  return c.freeze_v ? adamw_loop<true>(c, t, begin, end) : adamw_loop<false>(c, t, begin, end);
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(adamw_impl);

void adamw_range(const AdamwCoefficients& c, const AdamwTensors& t, std::int64_t begin,
                 std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(adamw_impl)(c, t, begin, end);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
