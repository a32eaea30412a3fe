// SPDX-License-Identifier: Apache-2.0
// Patterns of attention without a division per pair: two codes, one of the query and one of the
// key, are equal where the pattern has a tooth or a shared block.
#pragma once

namespace twill::cuda {

struct PairRule {
  enum Kind { kWindow, kComb, kBlocks };

  Kind kind;
  int window;  // keys nearer than this are visible
  int stride;  // at most the number of tokens: longer ones show the same pairs
};

inline constexpr int kNoQuery = -1, kNoKey = -2, kEveryQuery = -3;

__device__ __forceinline__ int query_code(const PairRule& rule, int i) {
  if (rule.kind == PairRule::kWindow) return kNoQuery;
  return rule.kind == PairRule::kComb ? i % rule.stride : i / rule.stride;
}

__device__ __forceinline__ int key_code(const PairRule& rule, int j) {
  if (rule.kind == PairRule::kWindow) return kNoKey;
  const int remainder = j % rule.stride;
  if (rule.kind == PairRule::kComb) return remainder;
  return remainder == rule.stride - 1 ? kEveryQuery : j / rule.stride;
}

__device__ __forceinline__ bool is_pair_visible(const PairRule& rule, int i, int j, int query,
                                                int key) {
  return j <= i && (i - j < rule.window || query == key || key == kEveryQuery);
}

// Whether queries [i, i_last] see any key of [j, j_last]; j <= i_last. Their distances take every
// value from `nearest` to `farthest`.
__device__ __forceinline__ bool is_any_visible(const PairRule& rule, int i, int i_last, int j,
                                               int j_last) {
  const int nearest = max(i - j_last, 0), farthest = i_last - j;
  if (nearest == 0 || nearest < rule.window) return true;
  if (rule.kind == PairRule::kWindow) return false;
  if (rule.kind == PairRule::kComb) return farthest / rule.stride * rule.stride >= nearest;
  const int to_end = rule.stride - 1 - j % rule.stride;  // from j to the end of its block
  return i / rule.stride == j_last / rule.stride || to_end <= j_last - j;
}

}  // namespace twill::cuda
