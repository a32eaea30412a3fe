// SPDX-License-Identifier: Apache-2.0
// The activations as functions of one vector: value(x), and value and slope together. All are
// written so that the negative tail keeps its relative accuracy and no limit is Inf times 0.
#if defined(TWILL_BACKENDS_CPU_ACTIVATION_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TWILL_BACKENDS_CPU_ACTIVATION_FUNCTIONS_INL_H_
#undef TWILL_BACKENDS_CPU_ACTIVATION_FUNCTIONS_INL_H_
#else
#define TWILL_BACKENDS_CPU_ACTIVATION_FUNCTIONS_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {

struct ValueAndSlope {
  VF value;
  VF slope;
};

// x Φ(x). With t = |x|, Φ(-t) = r(t) e^(-t²/2) where r is smooth, so that
//   x Φ(x) = max(x, 0) - t r(t) e^(-t²/2)  and  the slope at -t is (r(t) - t/√(2π)) e^(-t²/2).
struct Gelu {
  struct Parts {
    VF t;
    VF r;
    Power power;
  };

  static HWY_INLINE Parts parts(VF x) {
    const VF t = at_most(hn::Abs(x), 15.0f);  // value and slope at -15 are 0 in f32
    // t² with 12 + 12 bits: the square of the upper part is exact.
    const hn::RebindToUnsigned<F32> du;
    const VF high = hn::And(t, hn::BitCast(F32(), hn::Set(du, 0xFFFF'F000u)));
    const VF low = hn::Mul(hn::Sub(t, high), hn::Add(t, high));
    const VF half = set(-0.5f);
    const Power power = exp_power(hn::Mul(hn::Mul(high, high), half), hn::Mul(low, half));
    return {t, mills_ratio(t), power};
  }

  // Φ(-t) e^(t²/2) on [0, 15]: u p(w) with u = 1 / (1 + ct), w = 1 - u = ct u, c = 11/32, and p a
  // minimax polynomial, relative error 3e-8. In w, not in u: near t = 0 the rounding of u would
  // cost two bits.
  static HWY_INLINE VF mills_ratio(VF t) {
    const VF ct = hn::Mul(t, set(0.34375f));
    const VF u = hn::Div(set(1.0f), hn::Add(ct, set(1.0f)));
    const VF w = hn::Mul(ct, u);
    VF p = set(-0.0275824059096f);
    p = hn::MulAdd(p, w, set(0.0778544121082f));
    p = hn::MulAdd(p, w, set(-0.0423556414471f));
    p = hn::MulAdd(p, w, set(-0.0249389168768f));
    p = hn::MulAdd(p, w, set(-0.0720155229718f));
    p = hn::MulAdd(p, w, set(0.0921667181677f));
    p = hn::MulAdd(p, w, set(0.294551023844f));
    p = hn::MulAdd(p, w, set(-0.66055913585f));
    p = hn::MulAdd(p, w, set(0.500000012266f));
    return hn::Mul(p, u);
  }

  static HWY_INLINE VF value(VF x, const Parts& p) {
    return hn::Sub(hn::Max(x, zero()), times(hn::Mul(p.t, p.r), p.power));
  }
  static HWY_INLINE VF value(VF x) { return value(x, parts(x)); }

  static HWY_INLINE ValueAndSlope both(VF x) {
    const Parts p = parts(x);
    const VF slope = times(hn::NegMulAdd(p.t, set(0.398942280401f), p.r), p.power);  // at -|x|
    return {value(x, p), hn::IfThenElse(hn::Lt(x, zero()), slope, hn::Sub(set(1.0f), slope))};
  }
};

// x sigmoid(a(x)) for an a with the sign of x, from e = e^(-|a|):
//   x > 0: x / (1 + e),  x < 0: x e / (1 + e).
HWY_INLINE VF sigmoid_product(VF x, float lowest, const Power& power) {
  const VF e = value_of(power);
  const VF negative = times(at_least(x, lowest), power);
  return hn::Div(hn::IfThenElse(hn::Lt(x, zero()), negative, x), hn::Add(e, set(1.0f)));
}

// The same with its slope s + x s (1 - s) a'(x), s the sigmoid. `x_da` is x a'(x), clamped.
HWY_INLINE ValueAndSlope sigmoid_product_both(VF x, float lowest, const Power& power, VF x_da) {
  const VF e = value_of(power);
  const VF inverse = hn::Div(set(1.0f), hn::Add(e, set(1.0f)));
  const auto is_negative = hn::Lt(x, zero());
  const VF value =
      hn::Mul(hn::IfThenElse(is_negative, times(at_least(x, lowest), power), x), inverse);
  const VF s = hn::Mul(hn::IfThenElse(is_negative, e, set(1.0f)), inverse);
  const VF one_minus_s = hn::Mul(hn::IfThenElse(is_negative, set(1.0f), e), inverse);
  return {value, hn::Mul(s, hn::MulAdd(x_da, one_minus_s, set(1.0f)))};
}

// x sigmoid(x).
struct Swish {
  static constexpr float kLowest = -120.0f;  // the value at and below is 0 in f32

  static HWY_INLINE Power power(VF x) { return exp_power(at_least(hn::Neg(hn::Abs(x)), kLowest)); }
  static HWY_INLINE VF value(VF x) { return sigmoid_product(x, kLowest, power(x)); }
  static HWY_INLINE ValueAndSlope both(VF x) {
    return sigmoid_product_both(x, kLowest, power(x), at_most(at_least(x, kLowest), -kLowest));
  }
};

// x/2 (1 + tanh z) = x sigmoid(2z) = x / (1 + 2^(-w)) with w = x (A + B x²).
struct GeluTanh {
  static constexpr float kLowest = -11.0f;  // the value at and below is 0 in f32
  // A = 2 √(2/π) / ln 2 and B = 0.044715 A, each as the nearest f32 and the rest.
  static constexpr double kA = 2.30220819814432488913, kB = 0.10294323958002348742;
  static constexpr float kAHigh = static_cast<float>(kA), kBHigh = static_cast<float>(kB);
  static constexpr float kALow = static_cast<float>(kA - kAHigh);
  static constexpr float kBLow = static_cast<float>(kB - kBHigh);

  // 2^(-w(|x|)). w reaches 150, and its absolute error is the relative error of the power: so every
  // step keeps what rounding lost.
  static HWY_INLINE Power power(VF t) {
    const VF a = set(kAHigh), b = set(kBHigh);
    const VF square = hn::Mul(t, t);
    const VF cubic = hn::Mul(b, square);
    const VF sum = hn::Add(a, cubic);
    const VF sum_error = hn::Sub(hn::Min(a, cubic), hn::Sub(sum, hn::Max(a, cubic)));
    VF low = hn::MulAdd(set(kBLow), square, set(kALow));
    low = hn::MulAdd(b, product_error(t, t, square), low);
    low = hn::Add(low, hn::Add(sum_error, product_error(b, square, cubic)));
    const VF w = hn::Mul(t, sum);
    const VF w_low = hn::MulAdd(t, low, product_error(t, sum, w));
    const VF rounded = hn::Sub(set(kRounder), w);
    const VF n = hn::Sub(rounded, set(kRounder));
    const VF r = hn::Add(hn::Add(w, n), w_low);
    return make_power(hn::Mul(r, set(-0.693147180559945f)), rounded);
  }

  static HWY_INLINE VF magnitude(VF x) { return at_most(hn::Abs(x), -kLowest); }
  static HWY_INLINE VF value(VF x) { return sigmoid_product(x, kLowest, power(magnitude(x))); }
  static HWY_INLINE ValueAndSlope both(VF x) {
    constexpr float kSlope = 1.5957691216057308f;  // 2 √(2/π)
    const VF t = magnitude(x);
    const VF da = hn::MulAdd(hn::Mul(t, t), set(3.0f * 0.044715f * kSlope), set(kSlope));
    const VF clamped = at_most(at_least(x, kLowest), -kLowest);
    return sigmoid_product_both(x, kLowest, power(t), hn::Mul(clamped, da));
  }
};

// max(x, 0)².
struct Relu2 {
  static HWY_INLINE VF positive(VF x) { return at_least(x, 0.0f); }
  static HWY_INLINE VF value(VF x) { return hn::Mul(positive(x), positive(x)); }
  static HWY_INLINE ValueAndSlope both(VF x) {
    const VF p = positive(x);
    return {hn::Mul(p, p), hn::Add(p, p)};
  }
};

}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
