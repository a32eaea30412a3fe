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

template <int N, class T>
__device__ __forceinline__ void store(T* to, const float (&from)[N]) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack.at[i] = from_f32<T>(from[i]);
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

}  // namespace twill::cuda
