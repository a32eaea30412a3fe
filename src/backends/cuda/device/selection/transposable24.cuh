// SPDX-License-Identifier: Apache-2.0
// The mask of one 4 x 4 block (ops/selection/transposable24.h) by one thread, all of it in registers.
//
// Exact: 24 sums of pairs; 36 of the lower two rows, which are held; then, in the order of the
// contract, one of the upper two rows for every two or three patterns, and for each of the 90 a sum
// and a comparison with the best so far. Two chains, because each step waits for the one before.
//
// Greedy: eight rounds of the first largest entry that may still be kept, about 100 instructions
// each.
#pragma once

#include <cstdint>
#include <utility>

namespace twill::cuda {

// The six ways to keep two of four columns, in descending lexicographic order.
struct KeptPair {
  int first, second;
};
inline constexpr KeptPair kKeptPairs[6] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

constexpr unsigned columns_of(int pair) {
  return 1u << kKeptPairs[pair].first | 1u << kKeptPairs[pair].second;
}

struct TransposablePattern {
  int row[4];     // the pair that each row keeps
  unsigned bits;  // bit 4 row + column
};

constexpr bool columns_are_full(unsigned bits) {
  for (int column = 0; column < 4; ++column) {
    unsigned count = 0;
    for (int row = 0; row < 4; ++row) count += bits >> (4 * row + column) & 1u;
    if (count != 2) return false;
  }
  return true;
}

struct TransposablePatterns {
  TransposablePattern at[90];
};

// Counting up through the pairs of rows 0, 1, 2, 3 visits patterns in the order of the contract.
constexpr TransposablePatterns list_transposable_patterns() {
  TransposablePatterns patterns{};
  int count = 0;
  for (int code = 0; code < 6 * 6 * 6 * 6; ++code) {
    TransposablePattern pattern{{code / 216, code / 36 % 6, code / 6 % 6, code % 6}, 0};
    for (int row = 0; row < 4; ++row) pattern.bits |= columns_of(pattern.row[row]) << (4 * row);
    if (columns_are_full(pattern.bits)) patterns.at[count++] = pattern;
  }
  return patterns;
}
inline constexpr TransposablePatterns kTransposablePatterns = list_transposable_patterns();
static_assert(kTransposablePatterns.at[0].bits == 0xcc33 &&
                  kTransposablePatterns.at[89].bits == 0x33cc,
              "90 patterns, from 1100/1100/0011/0011 to 0011/0011/1100/1100");

struct BestPattern {
  float score;
  unsigned bits;
};

template <int kPattern>
__device__ __forceinline__ void try_pattern(const float (&pairs)[4][6], const float (&lower)[6][6],
                                            BestPattern& best) {
  constexpr TransposablePattern kThis = kTransposablePatterns.at[kPattern];
  const float upper = __fadd_rn(pairs[0][kThis.row[0]], pairs[1][kThis.row[1]]);
  const float score = __fadd_rn(upper, lower[kThis.row[2]][kThis.row[3]]);
  if (score > best.score) best = {score, kThis.bits};
}

template <int... kIndex>
__device__ __forceinline__ unsigned best_of_all(const float (&pairs)[4][6],
                                                const float (&lower)[6][6],
                                                std::integer_sequence<int, kIndex...>) {
  BestPattern front{-1.0f, 0}, back{-1.0f, 0};
  ((try_pattern<kIndex>(pairs, lower, front), try_pattern<kIndex + 45>(pairs, lower, back)), ...);
  return back.score > front.score ? back.bits : front.bits;
}

// Bit 4 row + column: what the best pattern keeps of these magnitudes.
__device__ __forceinline__ unsigned best_pattern(const unsigned (&magnitude)[16]) {
  float pairs[4][6], lower[6][6];
#pragma unroll
  for (int row = 0; row < 4; ++row) {
    float m[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) m[i] = __uint_as_float(magnitude[4 * row + i]);
    pairs[row][0] = __fadd_rn(m[0], m[1]);  // in the order of kKeptPairs
    pairs[row][1] = __fadd_rn(m[0], m[2]);
    pairs[row][2] = __fadd_rn(m[0], m[3]);
    pairs[row][3] = __fadd_rn(m[1], m[2]);
    pairs[row][4] = __fadd_rn(m[1], m[3]);
    pairs[row][5] = __fadd_rn(m[2], m[3]);
  }
#pragma unroll
  for (int a = 0; a < 6; ++a)
#pragma unroll
    for (int b = 0; b < 6; ++b) lower[a][b] = __fadd_rn(pairs[2][a], pairs[3][b]);
  return best_of_all(pairs, lower, std::make_integer_sequence<int, 45>());
}

// Entries that cannot be kept any more, given at most two kept in every row and column.
__device__ __forceinline__ unsigned closed_entries(unsigned kept) {
  const unsigned pairs = (kept & 0x5555u) + (kept >> 1 & 0x5555u);
  const unsigned counts = (pairs & 0x3333u) + (pairs >> 2 & 0x3333u);  // of the rows: 0, 1 or 2
  const unsigned full_rows = (counts >> 1 & 0x1111u) * 0xfu;
  const unsigned a = kept, b = kept >> 4, c = kept >> 8, d = kept >> 12;
  const unsigned full_columns = ((a & b) | (c & d) | ((a | b) & (c | d))) & 0xfu;
  return kept | full_rows | full_columns * 0x1111u;
}

// The same by greedy keep. A closed entry takes part as -1, below every magnitude.
__device__ __forceinline__ unsigned greedy_pattern(const unsigned (&magnitude)[16]) {
  unsigned kept = 0, closed = 0;
#pragma unroll 1
  for (int round = 0; round < 8; ++round) {
    int open[16], best = -1;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      open[i] = (closed >> i & 1u) != 0 ? -1 : static_cast<int>(magnitude[i]);
      best = max(best, open[i]);
    }
    unsigned bit = 0;
#pragma unroll
    for (int i = 15; i >= 0; --i) bit = open[i] == best ? 1u << i : bit;
    if (best < 0) break;
    kept |= bit;
    closed = closed_entries(kept);
  }
  return kept;
}

}  // namespace twill::cuda
