// SPDX-License-Identifier: Apache-2.0
// Where the metadata of ops/packing/pack24.h lies in the layout that Ampere-class sparse products of
// CUTLASS 2.x read. A bijection of the canonical (row, word) order.
//
//   word   16 bits (4 groups of 16-bit operands) or 32 bits (8 groups of 8-bit operands)
//   rows   a multiple of 32 (16-bit) or 16 (8-bit); the number of words per row is even
//
// Rows are interleaved so that a thread finds its rows side by side, the two off-diagonal words of
// each 2 x 2 cell change places, and pairs of word columns are stored column-major.
#pragma once

#include <cstdint>

namespace twill {

struct MetaLayout24 {
  std::int64_t period;  // rows that are permuted among themselves
  std::int64_t stride;  // new distance of rows that were neighbours
};
inline constexpr MetaLayout24 kMetaLayout16Bit{32, 4};
inline constexpr MetaLayout24 kMetaLayout8Bit{16, 2};

// The offset, in words, of word `word` of row `row`.
constexpr std::int64_t meta_offset(const MetaLayout24& layout, std::int64_t rows, std::int64_t row,
                                   std::int64_t word) {
  std::int64_t r =
      row / layout.period * layout.period + row % 8 * layout.stride + row % layout.period / 8;
  std::int64_t c = word;
  if (r % 2 != c % 2) {
    const std::int64_t step = r % 2 == 0 ? 1 : -1;
    r += step;
    c -= step;
  }
  return c / 2 * 2 * rows + 2 * r + c % 2;
}

}  // namespace twill
