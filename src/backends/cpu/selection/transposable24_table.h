// SPDX-License-Identifier: Apache-2.0
// The 90 patterns as sums: which pair of rows 0 and 1, which pair of rows 2 and 3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace twill::cpu {

// The six ways to keep two of four, in descending lexicographic order.
struct KeptPair {
  std::uint8_t first, second;
};
inline constexpr KeptPair kKeptPairs[6] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

struct TransposablePattern {
  std::uint8_t top;     // 6 a + b: row 0 keeps pair a, row 1 pair b
  std::uint8_t bottom;  // the same for rows 2 and 3
  std::uint16_t bits;   // bit 4 row + column
};

constexpr std::uint32_t bits_of(std::size_t pair) {
  return 1u << kKeptPairs[pair].first | 1u << kKeptPairs[pair].second;
}

constexpr bool columns_are_full(std::uint32_t bits) {
  for (int column = 0; column < 4; ++column) {
    std::uint32_t count = 0;
    for (int row = 0; row < 4; ++row) count += bits >> (4 * row + column) & 1u;
    if (count != 2) return false;
  }
  return true;
}

// Counting up through the pairs of rows 0, 1, 2, 3 visits patterns in the order of the contract.
constexpr std::array<TransposablePattern, 90> list_transposable_patterns() {
  std::array<TransposablePattern, 90> patterns{};
  std::size_t count = 0;
  for (std::size_t top = 0; top < 36; ++top) {
    for (std::size_t bottom = 0; bottom < 36; ++bottom) {
      const std::uint32_t bits = bits_of(top / 6) | bits_of(top % 6) << 4 |
                                 bits_of(bottom / 6) << 8 | bits_of(bottom % 6) << 12;
      if (!columns_are_full(bits)) continue;
      patterns[count++] = {static_cast<std::uint8_t>(top), static_cast<std::uint8_t>(bottom),
                           static_cast<std::uint16_t>(bits)};
    }
  }
  return patterns;
}

inline constexpr std::array<TransposablePattern, 90> kTransposablePatterns =
    list_transposable_patterns();

}  // namespace twill::cpu
