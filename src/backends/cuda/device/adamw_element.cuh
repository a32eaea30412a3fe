// SPDX-License-Identifier: Apache-2.0
// AdamW (ops/adamw.h) for one element and for a piece of a tensor. adamw.cu and update_all.cu share
// it: the same settings give the same bits in both. Products and sums name their rounding, so that
// no compiler's choice of fused multiply-adds stands between them.
#pragma once

#include <cstdint>

#include "backends/cuda/device/vec.cuh"

namespace twill::cuda {

// 8192 elements are 240 KB of traffic: a block's search and its coefficients are small beside it,
// and the last wave of blocks is short even for GPT-2 124M (15 Ki pieces).
inline constexpr std::int64_t kAdamwPiece = 8192;
inline constexpr int kAdamwThreads = 256;

struct AdamwSettings {
  double lr, beta1, beta2, eps, weight_decay, grad_scale;
  double correction1, correction2;  // 1 - beta^step
};

struct AdamwCoefficients {
  float lr, beta1, one_minus_beta1, beta2, one_minus_beta2, eps, weight_decay, grad_scale;
  float inverse_correction1, inverse_correction2;
};

struct AdamwTensors {
  float* weight;
  const float* grad;
  float* m;
  float* v;
  __nv_bfloat16* operand;  // or nullptr
};

// Everything in f64 until here, then rounded once.
__host__ __device__ inline AdamwCoefficients adamw_coefficients(const AdamwSettings& s) {
  return {.lr = static_cast<float>(s.lr),
          .beta1 = static_cast<float>(s.beta1),
          .one_minus_beta1 = static_cast<float>(1.0 - s.beta1),
          .beta2 = static_cast<float>(s.beta2),
          .one_minus_beta2 = static_cast<float>(1.0 - s.beta2),
          .eps = static_cast<float>(s.eps),
          .weight_decay = static_cast<float>(s.weight_decay),
          .grad_scale = static_cast<float>(s.grad_scale),
          .inverse_correction1 = static_cast<float>(1.0 / s.correction1),
          .inverse_correction2 = static_cast<float>(1.0 / s.correction2)};
}

template <bool kFreezeV>
__device__ __forceinline__ void adamw_element(const AdamwCoefficients& c, float grad, float& weight,
                                              float& m, float& v) {
  const float g = __fmul_rn(grad, c.grad_scale);
  m = __fmaf_rn(m, c.beta1, __fmul_rn(g, c.one_minus_beta1));
  float v_hat = v;
  if constexpr (!kFreezeV) {
    v = __fmaf_rn(v, c.beta2, __fmul_rn(__fmul_rn(g, g), c.one_minus_beta2));
    v_hat = __fmul_rn(v, c.inverse_correction2);
  }
  const float root = __fadd_rn(__fsqrt_rn(v_hat), c.eps);
  const float update = __fdiv_rn(__fmul_rn(m, c.inverse_correction1), root);
  weight = __fmaf_rn(-c.lr, __fmaf_rn(c.weight_decay, weight, update), weight);
}

// A pointer that was itself read from memory: without this the compiler takes the slower accesses
// that could also be to shared memory.
template <class T>
__device__ __forceinline__ T* in_global(T* pointer) {
  __builtin_assume(__isGlobal(pointer));
  return pointer;
}

// Elements [i, i + N) of a tensor.
template <bool kFreezeV, int N>
__device__ __forceinline__ void adamw_pack(const AdamwCoefficients& c, const AdamwTensors& t,
                                           std::int64_t i) {
  float grad[N], weight[N], m[N], v[N];
  load(in_global(t.grad) + i, grad);
  load(in_global(t.weight) + i, weight);
  load(in_global(t.m) + i, m);
  load(in_global(t.v) + i, v);
#pragma unroll
  for (int j = 0; j < N; ++j) adamw_element<kFreezeV>(c, grad[j], weight[j], m[j], v[j]);
  store(t.weight + i, weight);
  store(t.m + i, m);
  if constexpr (!kFreezeV) store(t.v + i, v);
  if (t.operand != nullptr) store(in_global(t.operand) + i, weight);
}

// Four elements at a time: 16 bytes of f32, 8 of bf16.
__device__ __forceinline__ bool is_wide(const AdamwTensors& t) {
  const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  return ((address(t.weight) | address(t.grad) | address(t.m) | address(t.v)) % 16 |
          address(t.operand) % 8) == 0;
}

// Elements [begin, end) by a block of kAdamwThreads; begin is a multiple of four.
template <bool kFreezeV>
__device__ __forceinline__ void adamw_piece(const AdamwCoefficients& c, const AdamwTensors& t,
                                            std::int64_t begin, std::int64_t end) {
  const int thread = static_cast<int>(threadIdx.x);
  std::int64_t done = begin;
  if (is_wide(t)) {
    done = end - end % 4;
#pragma unroll 1  // stores part the iterations anyway: copies of the body would only be code
    for (std::int64_t i = begin + 4 * thread; i < done; i += 4 * kAdamwThreads)
      adamw_pack<kFreezeV, 4>(c, t, i);
  }
#pragma unroll 1
  for (std::int64_t i = done + thread; i < end; i += kAdamwThreads)
    adamw_pack<kFreezeV, 1>(c, t, i);
}

}  // namespace twill::cuda
