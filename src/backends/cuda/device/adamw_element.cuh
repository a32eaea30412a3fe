// SPDX-License-Identifier: Apache-2.0
// AdamW (ops/update/adamw.h) for one element and for a piece of a tensor. adamw.cu and update_all.cu share
// it: the same settings give the same bits in both. Products and sums name their rounding, so that
// no compiler's choice of fused multiply-adds stands between them.
//
// Moments are f32 or bf16 (the parameter M). bf16 ones cost a philox call per four elements, some 20
// instructions per element beside the 40 of the update, and save 8 B of 30. Decay of pruned entries
// (the parameter Decay) adds a byte of mask and four instructions.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cuda/device/philox.cuh"
#include "backends/cuda/device/pieces.cuh"
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

template <class M>
struct AdamwTensors {
  float* weight;
  const float* grad;
  M* m;
  M* v;
  __nv_bfloat16* operand;  // or nullptr
};

// Where the draws for the rounding of moments come from; f32 ones need none.
template <class M>
struct MomentDraws {};
template <>
struct MomentDraws<__nv_bfloat16> {
  std::uint64_t seed;
  std::uint64_t first_element;  // of philox: the tensor's stream
  std::uint32_t step;
  std::uint32_t purpose;
};

using Bf16Draws = MomentDraws<__nv_bfloat16>;

// What is added to the clipped gradient before AdamW sees it.
struct NoDecay {};
struct PrunedDecay {  // rate · weight where the mask is zero
  const std::uint8_t* mask;
  float rate;
};
// A decay of the weight itself, in front of AdamW: rate · weight is added where the mask is zero.
struct PrunedPull {
  const std::uint8_t* mask;
  float rate;
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

// g is the gradient behind clipping and decay.
template <bool kFreezeV>
__device__ __forceinline__ void adamw_element(const AdamwCoefficients& c, float g, float& weight,
                                              float& m, float& v) {
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

// Which of N elements from i on are not decayed.
template <int N>
__device__ __forceinline__ void read_kept(const NoDecay&, std::int64_t, bool (&)[N]) {}
template <int N>
__device__ __forceinline__ void read_kept(const PrunedDecay& decay, std::int64_t i,
                                          bool (&kept)[N]) {
  read_flags<true>(in_global(decay.mask) + i, kept);
}
template <int N>
__device__ __forceinline__ void read_kept(const PrunedPull& pull, std::int64_t i, bool (&kept)[N]) {
  read_flags<true>(in_global(pull.mask) + i, kept);
}

// The bits of masked_decay.
__device__ __forceinline__ float decayed(const NoDecay&, float g, float, bool) { return g; }
__device__ __forceinline__ float decayed(const PrunedDecay& decay, float g, float weight,
                                         bool kept) {
  return kept ? g : __fadd_rn(g, __fmul_rn(decay.rate, weight));
}

__device__ __forceinline__ float decayed(const PrunedPull&, float g, float, bool) { return g; }

// The weight that AdamW sees.
__device__ __forceinline__ float pulled(const PrunedPull& pull, float weight, bool kept) {
  return kept ? weight : __fadd_rn(weight, __fmul_rn(pull.rate, weight));
}

// The words of N elements from i on: a whole group of four, or one.
template <int N>
__device__ __forceinline__ void moment_words(const Bf16Draws& draws, std::int64_t i,
                                             std::uint32_t (&words)[N]) {
  static_assert(N == 4 || N == 1);
  const auto element = static_cast<std::uint64_t>(i);
  // Opaque, or the compiler keeps the keys of all ten rounds in registers over the whole loop.
  std::uint64_t seed = draws.seed;
  asm volatile("" : "+l"(seed));
  const uint4 bits =
      random_bits(seed, draws.purpose, draws.step, draws.first_element + element / 4);
  if constexpr (N == 4) {
    words[0] = bits.x, words[1] = bits.y, words[2] = bits.z, words[3] = bits.w;
  } else {
    const std::uint32_t lower = element % 2 == 0 ? bits.x : bits.y;
    const std::uint32_t upper = element % 2 == 0 ? bits.z : bits.w;
    words[0] = element % 4 < 2 ? lower : upper;
  }
}

// The bits of a bf16. The draw carries into the upper half when it and the lower half reach 2^16; in
// a NaN it could run over the sign.
__device__ __forceinline__ std::uint32_t rounded_by_chance(float x, std::uint32_t draw) {
  return x == x ? (__float_as_uint(x) + draw) >> 16 : 0x7fffu;
}

// A plain store: between the volatile ones of vec.cuh the compiler cannot move anything, and 28 B no
// longer fit into the registers of adamw_all.
template <int N>
__device__ __forceinline__ void store_plain(float* to, const float (&from)[N]) {
  Pack<float, N> pack;
#pragma unroll
  for (int j = 0; j < N; ++j) pack.at[j] = from[j];
  *reinterpret_cast<Pack<float, N>*>(in_global(to)) = pack;
}

// bf16 numbers rounded by the half of each word that begins at bit kShift.
template <int kShift>
__device__ __forceinline__ void store_rounded(__nv_bfloat16* to, const float (&x)[1],
                                              const std::uint32_t (&words)[1]) {
  *in_global(to) = __ushort_as_bfloat16(
      static_cast<unsigned short>(rounded_by_chance(x[0], words[0] >> kShift & 0xffffu)));
}
template <int kShift>
__device__ __forceinline__ void store_rounded(__nv_bfloat16* to, const float (&x)[4],
                                              const std::uint32_t (&words)[4]) {
  std::uint32_t pairs[2];
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const std::uint32_t low = rounded_by_chance(x[2 * j], words[2 * j] >> kShift & 0xffffu);
    const std::uint32_t high =
        rounded_by_chance(x[2 * j + 1], words[2 * j + 1] >> kShift & 0xffffu);
    pairs[j] = low | high << 16;
  }
  // One number: of two the compiler makes two stores.
  *reinterpret_cast<std::uint64_t*>(in_global(to)) = std::uint64_t{pairs[1]} << 32 | pairs[0];
}

// m and v of N elements from i on.
template <bool kFreezeV, int N>
__device__ __forceinline__ void store_moments(const AdamwTensors<float>& t,
                                              const MomentDraws<float>&, std::int64_t i,
                                              const float (&m)[N], const float (&v)[N]) {
  store_plain(t.m + i, m);
  if constexpr (!kFreezeV) store_plain(t.v + i, v);
}
template <bool kFreezeV, int N>
__device__ __forceinline__ void store_moments(const AdamwTensors<__nv_bfloat16>& t,
                                              const Bf16Draws& draws, std::int64_t i,
                                              const float (&m)[N], const float (&v)[N]) {
  std::uint32_t words[N];
  moment_words(draws, i, words);
  store_rounded<0>(t.m + i, m, words);
  if constexpr (!kFreezeV) store_rounded<16>(t.v + i, v, words);
}

// Elements [i, i + N) of a tensor.
template <bool kFreezeV, int N, class M, class Decay>
__device__ __forceinline__ void adamw_pack(const AdamwCoefficients& c, const AdamwTensors<M>& t,
                                           const MomentDraws<M>& draws, const Decay& decay,
                                           std::int64_t i) {
  float grad[N], weight[N], m[N], v[N];
  load(in_global(t.grad) + i, grad);
  load(in_global(t.weight) + i, weight);
  load(in_global(t.m) + i, m);
  load(in_global(t.v) + i, v);
  bool kept[N] = {};
  read_kept(decay, i, kept);
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float g = decayed(decay, __fmul_rn(grad[j], c.grad_scale), weight[j], kept[j]);
    if constexpr (std::is_same_v<Decay, PrunedPull>) weight[j] = pulled(decay, weight[j], kept[j]);
    adamw_element<kFreezeV>(c, g, weight[j], m[j], v[j]);
  }
  store_plain(t.weight + i, weight);
  store_moments<kFreezeV>(t, draws, i, m, v);
  if (t.operand != nullptr) store(in_global(t.operand) + i, weight);
}

// Four elements at a time: 16 bytes of f32, 8 of bf16.
template <class M>
__device__ __forceinline__ bool is_wide(const AdamwTensors<M>& t) {
  const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  return ((address(t.weight) | address(t.grad)) % 16 |
          (address(t.m) | address(t.v)) % (4 * sizeof(M)) | address(t.operand) % 8) == 0;
}
__device__ __forceinline__ bool is_wide(const NoDecay&) { return true; }
__device__ __forceinline__ bool is_wide(const PrunedDecay& decay) {
  return reinterpret_cast<std::uintptr_t>(decay.mask) % 4 == 0;
}
__device__ __forceinline__ bool is_wide(const PrunedPull& pull) {
  return reinterpret_cast<std::uintptr_t>(pull.mask) % 4 == 0;
}

// Elements [begin, end) by a block of kAdamwThreads; begin is a multiple of four.
template <bool kFreezeV, class M, class Decay>
__device__ __forceinline__ void adamw_piece(const AdamwCoefficients& c, const AdamwTensors<M>& t,
                                            const MomentDraws<M>& draws, const Decay& decay,
                                            std::int64_t begin, std::int64_t end) {
  const int thread = static_cast<int>(threadIdx.x);
  std::int64_t done = begin;
  if (is_wide(t) && is_wide(decay)) {
    done = end - end % 4;
#pragma unroll 1  // stores part the iterations anyway: copies of the body would only be code
    for (std::int64_t i = begin + 4 * thread; i < done; i += 4 * kAdamwThreads)
      adamw_pack<kFreezeV, 4>(c, t, draws, decay, i);
  }
#pragma unroll 1
  for (std::int64_t i = done + thread; i < end; i += kAdamwThreads)
    adamw_pack<kFreezeV, 1>(c, t, draws, decay, i);
}

}  // namespace twill::cuda
