// SPDX-License-Identifier: Apache-2.0
// What kernels of ops/selection/mvue24.h share: their random words, and sixteen bytes of a row of channels.
#pragma once

#include <cstdint>

#include "backends/cuda/device/philox.cuh"
#include "backends/cuda/device/pieces.cuh"
#include "backends/cuda/device/row.cuh"

namespace twill::cuda {

inline constexpr int kMvueTokens = 16;  // of a philox call

struct MvueDraws {
  std::uint64_t seed;
  std::uint32_t step, tag, second_tag;

  __device__ __forceinline__ uint4 words(std::int64_t block, std::int64_t channel,
                                         std::uint32_t tag_of_call) const {
    return philox4x32(make_uint4(static_cast<std::uint32_t>(block),
                                 static_cast<std::uint32_t>(channel), step, tag_of_call),
                      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  }
};

// How a thread holds a row: 16 bytes as they are, or one channel as f32.
template <class T, bool kWhole>
struct Slice {
  static constexpr int kWords = kWhole ? 4 : 1;
  static constexpr int kPerWord = kWhole ? 4 / static_cast<int>(sizeof(T)) : 1;
  static constexpr int kChannels = kWords * kPerWord;

  static __device__ __forceinline__ void read(const T* from, unsigned (&words)[kWords]) {
    if constexpr (kWhole) {
      const uint4 bits = load16(from);
      words[0] = bits.x, words[1] = bits.y, words[2] = bits.z, words[3] = bits.w;
    } else {
      words[0] = __float_as_uint(to_f32(*from));
    }
  }
  static __device__ __forceinline__ void write(T* to, const unsigned (&words)[kWords]) {
    if constexpr (kWhole)
      *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
    else
      *to = from_f32<T>(__uint_as_float(words[0]));
  }
  static __device__ __forceinline__ float channel(unsigned word, int c) {
    if constexpr (kPerWord == 1) return __uint_as_float(word);
    return __uint_as_float(c == 0 ? word << 16 : word & 0xffff'0000u);
  }
  static __device__ __forceinline__ unsigned joined(const float (&values)[kPerWord]) {
    if constexpr (kPerWord == 1) {
      return __float_as_uint(values[0]);
    } else {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(values[0], values[1]);
      return *reinterpret_cast<const unsigned*>(&pair);
    }
  }
};

__device__ __forceinline__ std::uint32_t word_of(const uint4& words, int w) {
  return w == 0 ? words.x : w == 1 ? words.y : w == 2 ? words.z : words.w;
}

}  // namespace twill::cuda
