// SPDX-License-Identifier: Apache-2.0
// V neighbouring elements, seen as f32 or as their own bits, in accesses of up to 16 bytes (kWhole)
// or one by one.
#pragma once

#include <cstdint>

#include "backends/cuda/device/vec.cuh"

namespace twill::cuda {

// Words of one whole access to V elements, and how many elements those are.
template <class T, int V>
inline constexpr int kPieceElements = V < kVec<T> ? V : kVec<T>;
template <class T, int V>
inline constexpr int kPieceWords = kPieceElements<T, V>* static_cast<int>(sizeof(T)) / 4;

__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned bits_of(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }

template <class T>
__device__ __forceinline__ T element_of(unsigned bits) {
  if constexpr (sizeof(T) == 4)
    return __uint_as_float(bits);
  else
    return __ushort_as_bfloat16(static_cast<unsigned short>(bits));
}

// An element's bits as f32: a bf16 is the upper half of one.
template <class T>
__device__ __forceinline__ float value_of(unsigned bits) {
  return __uint_as_float(sizeof(T) == 4 ? bits : bits << 16);
}

// One store, by name: words that do not come together the compiler stores one by one.
template <int kWords>
__device__ __forceinline__ void store_words(void* to, const unsigned (&words)[kWords]) {
  if constexpr (kWords == 4)
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
  else if constexpr (kWords == 2)
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
                 "r"(words[0]), "r"(words[1])
                 : "memory");
  else
    *static_cast<unsigned*>(to) = words[0];
}

// The bits of V elements.
template <bool kWhole, int V, class T>
__device__ __forceinline__ void read_bits(const T* from, unsigned (&to)[V]) {
  if constexpr (kWhole) {
    constexpr int kStep = kPieceElements<T, V>;
#pragma unroll
    for (int p = 0; p < V; p += kStep) {
      using Words = Pack<unsigned, kPieceWords<T, V>>;
      const Words words = *reinterpret_cast<const Words*>(from + p);
#pragma unroll
      for (int i = 0; i < kStep; ++i) {
        if constexpr (sizeof(T) == 4)
          to[p + i] = words.at[i];
        else
          to[p + i] = i % 2 == 0 ? words.at[i / 2] & 0xffffu : words.at[i / 2] >> 16;
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = bits_of(from[i]);
  }
}

template <bool kWhole, int V, class T>
__device__ __forceinline__ void write_bits(T* to, const unsigned (&from)[V]) {
  if constexpr (kWhole) {
    constexpr int kStep = kPieceElements<T, V>;
#pragma unroll
    for (int p = 0; p < V; p += kStep) {
      unsigned words[kPieceWords<T, V>];
#pragma unroll
      for (int w = 0; w < kPieceWords<T, V>; ++w) {
        if constexpr (sizeof(T) == 4)
          words[w] = from[p + w];
        else
          words[w] = from[p + 2 * w] | from[p + 2 * w + 1] << 16;
      }
      store_words(to + p, words);
    }
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = element_of<T>(from[i]);
  }
}

template <bool kWhole, int V, class T>
__device__ __forceinline__ void read_values(const T* from, float (&to)[V]) {
  unsigned bits[V];
  read_bits<kWhole>(from, bits);
#pragma unroll
  for (int i = 0; i < V; ++i) to[i] = value_of<T>(bits[i]);
}

// Rounded to nearest even.
template <bool kWhole, int V, class T>
__device__ __forceinline__ void write_values(T* to, const float (&from)[V]) {
  if constexpr (kWhole) {
    store<V>(to, from);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = from_f32<T>(from[i]);
  }
}

// Whether each of V bytes is not zero. V is 1, 4, 8 or 16 where kWhole.
template <bool kWhole, int V>
__device__ __forceinline__ void read_flags(const std::uint8_t* from, bool (&to)[V]) {
  if constexpr (kWhole && V >= 4) {
    const auto words = *reinterpret_cast<const Pack<unsigned, V / 4>*>(from);
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = (words.at[i / 4] & 0xffu << (8 * (i % 4))) != 0;
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = from[i] != 0;
  }
}

// Bits 0 to 3 to the lowest bits of four bytes.
__device__ __forceinline__ unsigned spread_bits(unsigned bits) {
  const unsigned two = bits | bits << 7;
  return (two | two << 14) & 0x0101'0101u;
}

// Byte i becomes bit i of `bits`, 0 or 1; bits from V on are zero.
template <bool kWhole, int V>
__device__ __forceinline__ void write_flags(std::uint8_t* to, unsigned bits) {
  if constexpr (kWhole && V >= 4) {
    unsigned words[V / 4];
#pragma unroll
    for (int w = 0; w < V / 4; ++w) words[w] = spread_bits(bits >> (4 * w) & 0xfu);
    store_words(to, words);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = static_cast<std::uint8_t>(bits >> i & 1u);
  }
}

struct Division {
  std::int64_t quotient, rest;
};

// Of numbers that are not negative: in 32 bits where they fit, a quarter of the instructions.
__device__ __forceinline__ Division divide(std::int64_t a, std::int64_t b) {
  if ((a | b) >> 32 == 0) {
    const auto x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
    const unsigned quotient = x / y;
    return {quotient, x - quotient * y};
  }
  const std::int64_t quotient = a / b;
  return {quotient, a - quotient * b};
}

}  // namespace twill::cuda
