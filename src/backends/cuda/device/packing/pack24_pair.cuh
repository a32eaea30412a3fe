// SPDX-License-Identifier: Apache-2.0
// One group of a 2:4 matrix with bf16 values, as pack_tiles.cu has them: entries and their set in
// registers, one word of values out.
#pragma once

#include <cstdint>

#include "backends/cuda/device/packing/pack24.cuh"

namespace twill::cuda {

struct PackedPair {
  unsigned values;  // two bf16, the first in the low half
  unsigned code;
};

// Two entries as bf16, side by side.
template <class Dense>
__device__ __forceinline__ unsigned joined(unsigned first, unsigned second) {
  if constexpr (sizeof(Dense) == 2) return first | second << 16;
  const __nv_bfloat162 pair =
      __floats2bfloat162_rn(__uint_as_float(first), __uint_as_float(second));
  return *reinterpret_cast<const unsigned*>(&pair);
}

// Entries outside the set must be 0, unless it has two: as pack_group(), with fewer selections.
template <class Dense>
__device__ __forceinline__ PackedPair pack_pair(unsigned x0, unsigned x1, unsigned x2, unsigned x3,
                                                unsigned set) {
  constexpr auto kLow = static_cast<unsigned>(kCodes24);
  constexpr auto kHigh = static_cast<unsigned>(kCodes24 >> 32);
  const unsigned code = ((set & 8u) != 0 ? kHigh : kLow) >> (4 * (set & 7u)) & 0xfu;
  const unsigned first = (code & 1u) != 0 ? x1 : (code & 2u) != 0 ? x2 : x0;   // never entry 3
  const unsigned second = (code & 8u) == 0 ? x1 : (code & 4u) != 0 ? x3 : x2;  // never entry 0
  return {joined<Dense>(first, second), code};
}

}  // namespace twill::cuda
