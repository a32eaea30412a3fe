// SPDX-License-Identifier: Apache-2.0
// The matrix as a V:2:M pattern sees it (ops/selection/venom.h): P rows in blocks of v, Q columns in windows
// of m, by position. Elements are magnitudes as integers of their own width, which order like them.
//
// While the sums of magnitudes are still to be made, a byte of the mask also says who survives.
#pragma once

#include <cstdint>

#include "backends/cuda/device/pieces.cuh"

namespace twill::cuda {

inline constexpr unsigned kKeptFlag = 1, kSurvivesFlag = 2;

struct VenomGrid {
  const std::int32_t* row_order;     // nullptr: as they lie
  const std::int32_t* column_order;  // the same
  std::int64_t rows, cols;           // of x
  std::int64_t P, Q, v, m;

  __device__ __forceinline__ std::int64_t row(std::int64_t position) const {
    return row_order != nullptr ? row_order[position] : position;
  }
  __device__ __forceinline__ std::int64_t column(std::int64_t position) const {
    return column_order != nullptr ? column_order[position] : position;
  }
  // Of row p and column q of the pattern.
  template <bool kWithinRow>
  __device__ __forceinline__ std::int64_t index(std::int64_t p, std::int64_t q) const {
    return kWithinRow ? row(p) * cols + column(q) : row(q) * cols + column(p);
  }
};

// Bits is std::uint32_t for f32 and std::uint16_t for bf16. NaN counts as +Inf.
template <class Bits>
__device__ __forceinline__ Bits venom_size(Bits x) {
  if constexpr (sizeof(Bits) == 4)
    return min(x & 0x7fff'ffffu, 0x7f80'0000u);
  else
    return static_cast<Bits>(min(x & 0x7fffu, 0x7f80u));
}

template <class Bits>
__device__ __forceinline__ float venom_value(Bits size) {
  return __uint_as_float(sizeof(Bits) == 4 ? size : static_cast<unsigned>(size) << 16);
}

// The two largest of up to four sizes, seen in the order of positions; a zero is never one of them.
template <class Place>
struct VenomPair {
  unsigned first_size = 0, second_size = 0;
  Place first, second;

  __device__ __forceinline__ void see(unsigned size, Place place) {
    if (size > first_size) {
      second_size = first_size, second = first;
      first_size = size, first = place;
    } else if (size > second_size) {
      second_size = size, second = place;
    }
  }
};

}  // namespace twill::cuda
