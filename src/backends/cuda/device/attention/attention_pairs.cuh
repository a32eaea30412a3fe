// SPDX-License-Identifier: Apache-2.0
// Patterns of attention without a division per pair: two codes, one of the query and one of the
// key, are equal where the pattern has a tooth or a shared block.
#pragma once

namespace twill::cuda {

struct PairRule {
  enum Kind { kWindow, kComb, kBlocks };

  Kind kind;
  int window;     // keys nearer than this are visible …
  int stride;     // at most the number of tokens: longer ones show the same pairs
  int ahead = 0;  // … up to this many behind the query's position; at most the number of keys
};

inline constexpr int kNoQuery = -1, kNoKey = -2, kEveryQuery = -3;

// In place of a key that does not exist: further ahead than any rule allows.
inline constexpr int kMissing = 1 << 30;

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
  return j - i <= rule.ahead && (i - j < rule.window || query == key || key == kEveryQuery);
}

// Whether queries [i, i_last] may see any key of [j, j_last]; j <= i_last + ahead. Their distances
// take every value from `nearest` to `farthest`.
__device__ __forceinline__ bool is_any_visible(const PairRule& rule, int i, int i_last, int j,
                                               int j_last) {
  const int nearest = max(i - j_last, 0), farthest = i_last - j;
  if (nearest == 0 || nearest < rule.window) return true;
  if (rule.kind == PairRule::kWindow) return false;
  if (rule.kind == PairRule::kComb) return farthest / rule.stride * rule.stride >= nearest;
  const int to_end = rule.stride - 1 - j % rule.stride;  // from j to the end of its block
  return i / rule.stride == j_last / rule.stride || to_end <= j_last - j;
}

// Whether query i sees one of the keys [0, keys): as sees_any in ops/attention/attention_pattern.h.
__device__ __forceinline__ bool sees_any_key(const PairRule& rule, int i, int keys) {
  if (keys <= 0) return false;
  if (i - (keys - 1) < rule.window) return true;
  if (rule.kind == PairRule::kWindow) return false;
  if (rule.kind == PairRule::kComb) return i % rule.stride < keys;
  return i / rule.stride * rule.stride < keys || rule.stride <= keys;
}

}  // namespace twill::cuda
