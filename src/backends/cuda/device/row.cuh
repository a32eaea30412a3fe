// SPDX-License-Identifier: Apache-2.0
// A row held in registers: its 16-byte pieces are dealt in turn to the threads of a team, a warp or
// a block. Held as loaded, a piece costs four registers for both types; it is unpacked where used.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/vec.cuh"

namespace twill::cuda {

template <class T>
__device__ __forceinline__ uint4 load16(const T* from) {
  return *reinterpret_cast<const uint4*>(from);
}

// For memory that nobody writes while the kernel runs: such a load may move past any store.
template <class T>
__device__ __forceinline__ uint4 load16_constant(const T* from) {
  return __ldg(reinterpret_cast<const uint4*>(from));
}

// Four f32, or eight bf16: a bf16 is the upper half of an f32.
template <class T>
__device__ __forceinline__ void unpack(const uint4& bits, float (&to)[kVec<T>]) {
  const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < kVec<T>; ++i) {
    if constexpr (sizeof(T) == sizeof(float))
      to[i] = __uint_as_float(words[i]);
    else
      to[i] = __uint_as_float(i % 2 == 0 ? words[i / 2] << 16 : words[i / 2] & 0xffff'0000u);
  }
}

// What one thread of a team of kTeam holds of a row: pieces 0, kTeam, 2 kTeam, … from its first on,
// as far as there are `left` pieces. Offsets are known at compile time and cost no instruction.
template <class T, int kTeam, int kPacks>
struct HeldRow {
  static constexpr int kStep = kTeam * kVec<T>;

  uint4 bits[kPacks];

  __device__ __forceinline__ void load(const T* from, int left) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p)
      if (p * kTeam < left) bits[p] = load16_constant(from + p * kStep);
  }

  // body(offset from the thread's first value, values) for every piece held.
  template <class Body>
  __device__ __forceinline__ void for_each_pack(int left, const Body& body) const {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (p * kTeam < left) {
        float values[kVec<T>];
        unpack<T>(bits[p], values);
        body(p * kStep, values);
      }
    }
  }
};

// The sum over a team that is a warp or, with more than 32 threads, the whole block.
template <int kTeam>
__device__ __forceinline__ float team_sum(float x) {
  if constexpr (kTeam == kWarp) {
    return warp_sum(x);
  } else {
    return block_sum<kTeam>(x);
  }
}

// kCount sums over a block of any number of warps, with one barrier: calls alternate between two
// halves of the shared memory, so whoever writes a half knows that its last readers are through the
// barrier of the call in between. `half` is 0, 1, 0, 1, ….
template <int kCount, int kMaxThreads>
__device__ __forceinline__ void block_sums(float (&sums)[kCount], int half) {
  alignas(16) __shared__ float partial[2][kMaxThreads / kWarp][kCount];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
#pragma unroll
  for (float& sum : sums) sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) partial[half][warp][k] = sums[k];
  }
  __syncthreads();
#pragma unroll
  for (float& sum : sums) sum = 0.0f;
  for (int w = 0; w < warps; ++w) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) sums[k] += partial[half][w][k];
  }
}

}  // namespace twill::cuda
