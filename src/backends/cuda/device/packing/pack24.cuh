// SPDX-License-Identifier: Apache-2.0
// One group of ops/packing/pack24.h: from four entries and their mask to two values and a code, and back.
// Entries are bits in registers and are picked by selections: an index that is not known at compile
// time would put them into local memory.
#pragma once

#include <cstdint>

#include "backends/cuda/device/pieces.cuh"

namespace twill::cuda {

// Nibble `set` is the code of a group whose mask has bit i set where entry i is: the first two set
// entries and, where there are fewer, the lowest unset ones.
constexpr unsigned long long list_codes24() {
  unsigned long long codes = 0;
  for (unsigned set = 0; set < 16; ++set) {
    unsigned chosen = 0;
    int count = 0;
    for (const bool wanted : {true, false})
      for (unsigned i = 0; i < 4 && count < 2; ++i)
        if ((set >> i & 1u) == (wanted ? 1u : 0u)) chosen |= 1u << i, ++count;
    unsigned first = 0, second = 3;
    while ((chosen >> first & 1u) == 0) ++first;
    while ((chosen >> second & 1u) == 0) --second;
    codes |= static_cast<unsigned long long>(first | second << 2) << (4 * set);
  }
  return codes;
}
inline constexpr unsigned long long kCodes24 = list_codes24();

// The packed matrix is (rows, cols); dense is that, or its transpose.
template <class Dense, class Value>
struct Packing {
  const Dense* dense;
  const std::uint8_t* mask;
  Value* values;
  std::uint8_t* nibbles;
  std::int64_t rows, cols;
};

template <class T>
struct Unpacking {
  const T* values;
  const std::uint8_t* nibbles;
  T* dense;
  std::int64_t rows, cols;
};

// The bits of an entry in the type of the values.
template <class Dense, class Value>
__device__ __forceinline__ unsigned converted(unsigned bits) {
  if constexpr (sizeof(Dense) == sizeof(Value))
    return bits;
  else
    return bits_of(from_f32<Value>(value_of<Dense>(bits)));
}

struct PackedGroup {
  unsigned values[2];
  unsigned code;
};

// Entry `at` of four; 0 where it is not set.
__device__ __forceinline__ unsigned pick(const unsigned (&x)[4], unsigned at, unsigned set) {
  const unsigned low = (at & 1u) != 0 ? x[1] : x[0], high = (at & 1u) != 0 ? x[3] : x[2];
  const unsigned picked = (at & 2u) != 0 ? high : low;
  return (set >> at & 1u) != 0 ? picked : 0u;
}

template <class Dense, class Value>
__device__ __forceinline__ PackedGroup pack_group(const unsigned (&x)[4], const bool (&kept)[4]) {
  unsigned set = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) set |= unsigned{kept[i]} << i;
  const unsigned code = static_cast<unsigned>(kCodes24 >> (4 * set)) & 0xfu;
  return {{converted<Dense, Value>(pick(x, code & 3u, set)),
           converted<Dense, Value>(pick(x, code >> 2, set))},
          code};
}

// Entry `at` of what two values and a code stand for; the second value wins where both claim it.
__device__ __forceinline__ unsigned unpacked(unsigned first, unsigned second, unsigned code,
                                             unsigned at) {
  return (code >> 2 & 3u) == at ? second : (code & 3u) == at ? first : 0u;
}

}  // namespace twill::cuda
