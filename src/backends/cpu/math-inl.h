// SPDX-License-Identifier: Apache-2.0
// Powers on Highway vectors, to about one unit in the last place. NaN goes through.
#if defined(TWILL_BACKENDS_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TWILL_BACKENDS_CPU_MATH_INL_H_
#undef TWILL_BACKENDS_CPU_MATH_INL_H_
#else
#define TWILL_BACKENDS_CPU_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {

// Clamps that keep a NaN.
HWY_INLINE VF at_least(VF x, float low) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(set(low), x);  // maxps returns its second operand when one is NaN
#else
  return hn::IfThenElse(hn::Lt(x, set(low)), set(low), x);
#endif
}
HWY_INLINE VF at_most(VF x, float high) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Min(set(high), x);
#else
  return hn::IfThenElse(hn::Gt(x, set(high)), set(high), x);
#endif
}

// a b - product, where product = a b rounded: the part that rounding lost.
HWY_INLINE VF product_error(VF a, VF b, VF product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, product);
#else
  // Dekker: halves of twelve bits have exact products.
  const hn::RebindToUnsigned<F32> du;
  const VF upper = hn::BitCast(F32(), hn::Set(du, 0xFFFF'F000u));
  const VF a_high = hn::And(a, upper), b_high = hn::And(b, upper);
  const VF a_low = hn::Sub(a, a_high), b_low = hn::Sub(b, b_high);
  const VF high = hn::Sub(hn::Mul(a_high, b_high), product);
  const VF cross = hn::Add(hn::Mul(a_high, b_low), hn::Mul(a_low, b_high));
  return hn::Add(hn::Add(high, cross), hn::Mul(a_low, b_low));
#endif
}

// A power that may be too small for f32, kept 2^64 too large: a factor multiplied to it first is
// not lost in a subnormal on the way.
struct Power {
  VF scaled;
};

HWY_INLINE VF times(VF factor, const Power& power) {
  return hn::Mul(hn::Mul(factor, power.scaled), set(0x1p-64f));
}
HWY_INLINE VF value_of(const Power& power) { return hn::Mul(power.scaled, set(0x1p-64f)); }

// Adding this to a small v leaves round(v) + 127 + 64 in the lower bits of the sum: the exponent
// field of 2^(round(v) + 64).
constexpr float kRounder = 0x1.8p23f + 127.0f + 64.0f;

// e^r 2^n for |r| <= 0.35 and whole n in [-190, 63]; `rounded` is n + kRounder.
HWY_INLINE Power make_power(VF r, VF rounded) {
  const hn::RebindToUnsigned<F32> du;
  // Minimax, relative error 2e-9.
  VF p = set(0.00138366361272f);
  p = hn::MulAdd(p, r, set(0.00837498102172f));
  p = hn::MulAdd(p, r, set(0.0416682381081f));
  p = hn::MulAdd(p, r, set(0.166664182081f));
  p = hn::MulAdd(p, r, set(0.499999919842f));
  p = hn::MulAdd(p, r, set(1.0f));
  p = hn::MulAdd(p, r, set(1.0f));
  const VF scale = hn::BitCast(F32(), hn::ShiftLeft<23>(hn::BitCast(du, rounded)));
  return {hn::Mul(p, scale)};
}

constexpr float kLog2E = 1.44269504088896340736f;
// ln 2 in two parts; the first has 10 bits, so its product with n is exact without FMA too.
constexpr float kLn2High = 0.693359375f;
constexpr float kLn2Low = -2.12194440054690583e-4f;

HWY_INLINE VF reduce(VF x, VF n) {
  return hn::NegMulAdd(n, set(kLn2Low), hn::NegMulAdd(n, set(kLn2High), x));
}

// e^x for x in [-130, 43].
HWY_INLINE Power exp_power(VF x) {
  const VF rounded = hn::MulAdd(x, set(kLog2E), set(kRounder));
  return make_power(reduce(x, hn::Sub(rounded, set(kRounder))), rounded);
}

// e^(x + low): the same with an argument of twice the precision, |low| <= 0.1.
HWY_INLINE Power exp_power(VF x, VF low) {
  const VF rounded = hn::MulAdd(hn::Add(x, low), set(kLog2E), set(kRounder));
  return make_power(hn::Add(reduce(x, hn::Sub(rounded, set(kRounder))), low), rounded);
}

// e^x for x <= 0 and a little above, as a softmax asks for; 0 below -104.
HWY_INLINE VF exp_negative(VF x) { return value_of(exp_power(at_least(x, -104.0f))); }

}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
