// SPDX-License-Identifier: Apache-2.0
// The activations of ops/layers/activation.h as functions of one f32: value(x), or value and slope at once
// from shared parts. Limits at both infinities are exact and NaN goes through.
//
// T is the type that the result is stored in. For f32, exp is good to one unit in the last place.
// For bf16, 2^a and 1/a come from the special function unit (relative errors 2^-22 and 2^-23): two
// instructions in place of twenty. In both the argument a of an exponential is rounded two or three
// times, which costs |a| 2^-23 of e^a: before the rounding to bf16 (2^-8) the relative error stays
// below 2^-20 down to x = -3 and below 2^-16 wherever e^a is normal; results under about 1e-36 may
// become zero. Measured against x, which bounds f, no error reaches 2^-21.
//
// Sums of products are written as fmaf or name their rounding: what is left to the compiler could be
// fused in one kernel and not in another, and kernels owe each other the bits of dx.
#pragma once

#include <cuda_bf16.h>

namespace twill::cuda {

struct ValueAndSlope {
  float value;
  float slope;
};

// The smaller, keeping a NaN: fminf would drop it.
__device__ __forceinline__ float at_most(float x, float high) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(high));
  return y;
}

// The larger likewise.
__device__ __forceinline__ float at_least(float x, float low) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(low));
  return y;
}

// power(a) = e^(a / kUnit). Constants of an argument take the unit in: bf16 pays no product for it.
template <class T>
struct Exponential;

template <>
struct Exponential<float> {
  static constexpr double kUnit = 1.0;
  static __device__ __forceinline__ float power(float a) { return expf(a); }
  static __device__ __forceinline__ float reciprocal(float a) { return 1.0f / a; }
};

template <>
struct Exponential<__nv_bfloat16> {
  static constexpr double kUnit = 1.4426950408889634074;  // log2 e
  static __device__ __forceinline__ float power(float a) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
    return y;
  }
  static __device__ __forceinline__ float reciprocal(float a) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
    return y;
  }
};

// x sigmoid(a(x)) and its slope for an odd a, given t = |x| (clamped where e^-a(t) is zero in f32),
// minus_a = -a(t) kUnit and t_da = t a'(t). From e = e^-a(t) <= 1 both sigmoid(a(t)) = 1 / (1 + e)
// and sigmoid(-a(t)) = e / (1 + e) come without cancellation, and nothing overflows.
template <class T>
__device__ __forceinline__ ValueAndSlope sigmoid_product(float x, float t, float minus_a,
                                                         float t_da) {
  using Exp = Exponential<T>;
  const float e = Exp::power(minus_a);
  const float upper = Exp::reciprocal(1.0f + e), lower = e * upper;
  const float s = x < 0.0f ? lower : upper;
  // -Inf becomes -t, so that it does not meet the zero of s; Inf stays.
  return {fmaxf(x, -t) * s, fmaf(copysignf(t_da * upper, x), lower, s)};
}

// x sigmoid(x).
template <class T>
struct Swish {
  static __device__ __forceinline__ ValueAndSlope both(float x) {
    const float t = at_most(fabsf(x), 120.0f);
    return sigmoid_product<T>(x, t, t * static_cast<float>(-Exponential<T>::kUnit), t);
  }
  static __device__ __forceinline__ float value(float x) { return both(x).value; }
};

// x/2 (1 + tanh z) = x sigmoid(2z), 2z = A x + B x³.
template <class T>
struct GeluTanh {
  static constexpr double kA = 1.5957691216057307117;  // 2 √(2/π)
  static constexpr double kB = 0.044715 * kA;

  static __device__ __forceinline__ ValueAndSlope both(float x) {
    const float t = at_most(fabsf(x), 11.0f), square = t * t;
    const float minus_a = t * fmaf(square, static_cast<float>(-kB), static_cast<float>(-kA));
    const float da = fmaf(square, static_cast<float>(3.0 * kB), static_cast<float>(kA));
    return sigmoid_product<T>(x, t, minus_a, t * da);
  }
  static __device__ __forceinline__ float value(float x) { return both(x).value; }
};

// x sigmoid(a) and its slope for bf16, where each instruction counts, without signs apart: e = e^-a runs
// up to Inf, where 1 / (1 + e) is zero (results under 1e-36). `low` is x, but no less than where that
// is so: -Inf would meet the zero. t is `low`, but finite too, and t_da = t a'(t).
__device__ __forceinline__ ValueAndSlope sigmoid_product_bf16(float low, float e, float t_da) {
  const float upper = Exponential<__nv_bfloat16>::reciprocal(1.0f + e);
  // upper (1 - upper): what is cancelled beside 1 is lost in the sum, beside 0 nothing is.
  return {low * upper, fmaf(t_da, fmaf(-upper, upper, upper), upper)};
}

template <>
struct Swish<__nv_bfloat16> {
  using Exp = Exponential<__nv_bfloat16>;
  static constexpr float kFar = 120.0f;

  static __device__ __forceinline__ ValueAndSlope both(float x) {
    const float low = at_least(x, -kFar), t = at_most(low, kFar);
    return sigmoid_product_bf16(low, decay(t), t);
  }
  static __device__ __forceinline__ float value(float x) {
    const float low = at_least(x, -kFar);
    return low * Exp::reciprocal(1.0f + decay(low));
  }

 private:
  static __device__ __forceinline__ float decay(float x) {
    return Exp::power(x * static_cast<float>(-Exp::kUnit));
  }
};

template <>
struct GeluTanh<__nv_bfloat16> {
  using Exp = Exponential<__nv_bfloat16>;
  static constexpr double kA = GeluTanh<float>::kA, kB = GeluTanh<float>::kB;
  static constexpr float kFar = 11.0f;

  static __device__ __forceinline__ ValueAndSlope both(float x) {
    const float low = at_least(x, -kFar), t = at_most(low, kFar), square = t * t;
    const float da = fmaf(square, static_cast<float>(3.0 * kB), static_cast<float>(kA));
    return sigmoid_product_bf16(low, decay(t, square), t * da);
  }
  static __device__ __forceinline__ float value(float x) {
    const float low = at_least(x, -kFar);
    return low * Exp::reciprocal(1.0f + decay(low, low * low));
  }

 private:
  static __device__ __forceinline__ float decay(float x, float square) {
    return Exp::power(x * fmaf(square, static_cast<float>(-kB * Exp::kUnit),
                               static_cast<float>(-kA * Exp::kUnit)));
  }
};

// x Φ(x). With t = |x|, Φ(-t) = r(t) e^(-t²/2) where r is smooth, so that
//   x Φ(x) = max(x, 0) - t r(t) e^(-t²/2)  and  the slope at -t is (r(t) - t/√(2π)) e^(-t²/2).
template <class T>
struct Gelu {
  // Φ(-t) e^(t²/2) on [0, 15]: u p(w) with u = 1 / (1 + ct), w = 1 - u = ct u, c = 11/32, and p a
  // minimax polynomial, relative error 3e-8. In w, not in u: near t = 0 the rounding of u would
  // cost two bits.
  static __device__ __forceinline__ float mills_ratio(float t) {
    const float ct = t * 0.34375f;
    const float u = Exponential<T>::reciprocal(__fadd_rn(1.0f, ct));
    const float w = ct * u;
    float p = -0.0275824059096f;
    p = fmaf(p, w, 0.0778544121082f);
    p = fmaf(p, w, -0.0423556414471f);
    p = fmaf(p, w, -0.0249389168768f);
    p = fmaf(p, w, -0.0720155229718f);
    p = fmaf(p, w, 0.0921667181677f);
    p = fmaf(p, w, 0.294551023844f);
    p = fmaf(p, w, -0.66055913585f);
    p = fmaf(p, w, 0.500000012266f);
    return p * u;
  }

  static __device__ __forceinline__ ValueAndSlope both(float x) {
    using Exp = Exponential<T>;
    const float t = at_most(fabsf(x), 15.0f);  // e^-112 is zero in f32
    const float e = Exp::power(t * t * static_cast<float>(-0.5 * Exp::kUnit));
    const float r = mills_ratio(t);
    const float slope = fmaf(t, -0.398942280401f, r) * e;  // at -t
    return {fmaf(-t * r, e, fmaxf(x, 0.0f)), x < 0.0f ? slope : __fsub_rn(1.0f, slope)};
  }
  static __device__ __forceinline__ float value(float x) { return both(x).value; }
};

// max(x, 0)², exact but for the rounding of the square.
template <class T>
struct Relu2 {
  static __device__ __forceinline__ float positive(float x) { return x <= 0.0f ? 0.0f : x; }

  static __device__ __forceinline__ ValueAndSlope both(float x) { return {value(x), slope(x)}; }
  static __device__ __forceinline__ float value(float x) { return positive(x) * positive(x); }
  static __device__ __forceinline__ float slope(float x) { return 2.0f * positive(x); }
};

// Of what is its slope already.
struct KnownSlope {
  static __device__ __forceinline__ ValueAndSlope both(float x) { return {x, x}; }
};

// The gradients of ops/layers/activation.h: of x, or of value and gate.
template <class F>
__device__ __forceinline__ float plain_gradient(float x, float dy) {
  return dy * F::both(x).slope;
}

struct GatedGradient {
  float value;
  float gate;
};

template <class F>
__device__ __forceinline__ GatedGradient gated_gradient(float value, float gate, float dy) {
  const ValueAndSlope f = F::both(gate);
  return {dy * f.value, dy * value * f.slope};
}

}  // namespace twill::cuda
