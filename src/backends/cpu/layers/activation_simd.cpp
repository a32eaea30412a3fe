// SPDX-License-Identifier: Apache-2.0
// Activations in SIMD. Each element is loaded before its place is stored to, so dx may be x or dy.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/layers/activation_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/layers/activation_functions-inl.h"
#include "backends/cpu/layers/activation_simd.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

template <class Function>
void forward(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += lanes())
    store(Function::value(load(x + i, n - i)), y + i, n - i);
}

template <class Function>
void backward(const float* x, const float* dy, float* dx, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const VF slope = Function::both(load(x + i, n - i)).slope;
    store(hn::Mul(load(dy + i, n - i), slope), dx + i, n - i);
  }
}

template <class Function>
void gated_forward(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const VF f = Function::value(load(x + n + i, n - i));
    store(hn::Mul(load(x + i, n - i), f), y + i, n - i);
  }
}

template <class Function>
void gated_backward(const float* x, const float* dy, float* dx, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const ValueAndSlope f = Function::both(load(x + n + i, n - i));
    const VF value = load(x + i, n - i), d = load(dy + i, n - i);
    store(hn::Mul(d, f.value), dx + i, n - i);
    store(hn::Mul(hn::Mul(d, value), f.slope), dx + n + i, n - i);
  }
}

void plain_forward_of(Activation kind, const float* x, float* y, std::int64_t n) {
  if (kind == Activation::kGelu) return forward<Gelu>(x, y, n);
  if (kind == Activation::kGeluTanh) return forward<GeluTanh>(x, y, n);
  return forward<Relu2>(x, y, n);
}

void plain_backward_of(Activation kind, const float* x, const float* dy, float* dx,
                       std::int64_t n) {
  if (kind == Activation::kGelu) return backward<Gelu>(x, dy, dx, n);
  if (kind == Activation::kGeluTanh) return backward<GeluTanh>(x, dy, dx, n);
  return backward<Relu2>(x, dy, dx, n);
}

void gated_forward_of(Activation kind, const float* x, float* y, std::int64_t n) {
  if (kind == Activation::kSwiglu) return gated_forward<Swish>(x, y, n);
  if (kind == Activation::kGegluTanh) return gated_forward<GeluTanh>(x, y, n);
  return gated_forward<Gelu>(x, y, n);
}

void gated_backward_of(Activation kind, const float* x, const float* dy, float* dx,
                       std::int64_t n) {
  if (kind == Activation::kSwiglu) return gated_backward<Swish>(x, dy, dx, n);
  if (kind == Activation::kGegluTanh) return gated_backward<GeluTanh>(x, dy, dx, n);
  return gated_backward<Gelu>(x, dy, dx, n);
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(plain_forward_of);
HWY_EXPORT(plain_backward_of);
HWY_EXPORT(gated_forward_of);
HWY_EXPORT(gated_backward_of);

void activate(Activation kind, const float* x, float* y, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(plain_forward_of)(kind, x, y, n);
}
void activate_backward(Activation kind, const float* x, const float* dy, float* dx,
                       std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(plain_backward_of)(kind, x, dy, dx, n);
}
void activate_gated(Activation kind, const float* x, float* y, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(gated_forward_of)(kind, x, y, n);
}
void activate_gated_backward(Activation kind, const float* x, const float* dy, float* dx,
                             std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(gated_backward_of)(kind, x, dy, dx, n);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
