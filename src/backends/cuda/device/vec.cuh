// SPDX-License-Identifier: Apache-2.0
// N neighbouring elements of f32 or bf16 in one access, seen as f32 in registers.
#pragma once

#include <cuda_bf16.h>

namespace twill::cuda {

template <class T>
inline constexpr int kVec = 16 / static_cast<int>(sizeof(T));  // elements of a 16-byte access

__device__ __forceinline__ float to_f32(float x) { return x; }
__device__ __forceinline__ float to_f32(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__device__ __forceinline__ T from_f32(float x);
template <>
__device__ __forceinline__ float from_f32<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_f32<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// N elements of T; aligned so that N sizeof(T) = 16 or 8 is one access.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

template <int N, class T>
__device__ __forceinline__ void load(const T* from, float (&to)[N]) {
  const Pack<T, N> pack = *reinterpret_cast<const Pack<T, N>*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = to_f32(pack.at[i]);
}

// The 32-bit word of `from` that begins with element i: one f32, or two bf16.
template <class T, int N>
__device__ __forceinline__ unsigned word_at(const float (&from)[N], int i) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return __float_as_uint(from[i]);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(from[i], from[i + 1]);
    return *reinterpret_cast<const unsigned*>(&pair);
  }
}

// To global memory only. The accesses are written out: of a struct of bf16 the compiler may make
// eight stores of two bytes.
template <int N, class T>
__device__ __forceinline__ void store(T* to, const float (&from)[N]) {
  constexpr int kBytes = N * static_cast<int>(sizeof(T));
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
  const auto word = [&](int w) { return word_at<T>(from, w * kPerWord); };
  if constexpr (kBytes < 4) {
    *to = from_f32<T>(from[0]);
  } else if constexpr (kBytes == 4) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(word(0))
                 : "memory");
  } else if constexpr (kBytes == 8) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
                 "r"(word(0)), "r"(word(1))
                 : "memory");
  } else {
    static_assert(kBytes % 16 == 0, "whole accesses of 16 bytes");
#pragma unroll
    for (int w = 0; w < kBytes / 4; w += 4)
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(
                       __cvta_generic_to_global(to + w * kPerWord)),
                   "r"(word(w)), "r"(word(w + 1)), "r"(word(w + 2)), "r"(word(w + 3))
                   : "memory");
  }
}

}  // namespace twill::cuda
