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

// Makes the compiler unpack where it is asked to: hoisted out of a loop, the values would take
// twice the registers.
__device__ __forceinline__ void keep_packed(uint4& bits) {
  asm volatile("" : "+r"(bits.x), "+r"(bits.y), "+r"(bits.z), "+r"(bits.w));
}

// The values as they are stored: rounded to T.
template <class T>
__device__ __forceinline__ uint4 pack(const float (&from)[kVec<T>]) {
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
  return make_uint4(word_at<T>(from, 0), word_at<T>(from, kPerWord), word_at<T>(from, 2 * kPerWord),
                    word_at<T>(from, 3 * kPerWord));
}

template <class T>
__device__ __forceinline__ void store16(T* to, const uint4& bits) {
  *reinterpret_cast<uint4*>(to) = bits;
}

// What one thread of a team of kTeam holds of a row: pieces 0, kTeam, 2 kTeam, … from its first on,
// as far as there are `left` pieces; kSure of them are there without a question. Offsets are known
// at compile time and cost no instruction.
template <class T, int kTeam, int kPacks, int kSure>
struct HeldRow {
  static constexpr int kStep = kTeam * kVec<T>;

  uint4 bits[kPacks];

  static __device__ __forceinline__ bool has(int p, int left) {
    return p < kSure || p * kTeam < left;
  }

  __device__ __forceinline__ void load(const T* from, int left) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p)
      if (has(p, left)) bits[p] = load16_constant(from + p * kStep);
  }

  // body(offset from the thread's first value, values) for every piece held.
  template <class Body>
  __device__ __forceinline__ void for_each_pack(int left, const Body& body) const {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (has(p, left)) {
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

// A barrier of some warps of the block: `threads` is a multiple of 32, id 0 that of __syncthreads.
__device__ __forceinline__ void sync_threads(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace twill::cuda
