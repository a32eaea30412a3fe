// SPDX-License-Identifier: Apache-2.0
// Which pairs (query i, key j) attention computes.
//
// i counts the queries of a sequence and j its keys, both from 0; the pattern looks at i and j alone.
// So with more keys than queries a causal pattern shows the first keys only, and with more queries
// than keys the later queries see what is left: kCausal all keys, kLocal none from key + stride on.
// A query that sees no key at all is a case of ops/attention/attention.h. Where a query has a key of
// its own number it sees it, whatever the pattern.
//
// kFixed, T no multiple of `stride`: the partial last block sees the end of every full block, the
// last one included; its own end does not exist.
#pragma once

#include <cstdint>

namespace twill {

enum class AttentionPattern : std::uint8_t {
  kCausal,   // j <= i
  kLocal,    // 0 <= i - j < stride: a causal window
  kStrided,  // j <= i and (i - j) % stride == 0
  kUnion,    // kLocal or kStrided
  kFixed,    // j <= i, and j in the block of `stride` positions of i, or the last of any block
  kFull,     // every pair: encoders, and a decoder's look at its source
  kWindow,   // |i - j| < stride: a window to both sides
};

// Whether no query sees a key behind its own position.
constexpr bool is_causal(AttentionPattern pattern) {
  return pattern != AttentionPattern::kFull && pattern != AttentionPattern::kWindow;
}

// A pattern and what it counts in; kCausal and kFull count nothing.
struct AttentionMask {
  AttentionPattern kind = AttentionPattern::kCausal;
  std::int64_t stride = 1;

  friend constexpr bool operator==(const AttentionMask&, const AttentionMask&) = default;
};

constexpr bool is_visible(AttentionPattern pattern, std::int64_t stride, std::int64_t i,
                          std::int64_t j) {
  if (pattern == AttentionPattern::kFull) return true;
  if (pattern == AttentionPattern::kWindow) return (i < j ? j - i : i - j) < stride;
  if (j > i) return false;
  switch (pattern) {
    case AttentionPattern::kLocal:
      return i - j < stride;
    case AttentionPattern::kStrided:
      return (i - j) % stride == 0;
    case AttentionPattern::kUnion:
      return i - j < stride || (i - j) % stride == 0;
    case AttentionPattern::kFixed:
      return i / stride == j / stride || j % stride == stride - 1;
    default:
      return true;
  }
}
constexpr bool is_visible(const AttentionMask& mask, std::int64_t i, std::int64_t j) {
  return is_visible(mask.kind, mask.stride, i, j);
}

// Whether query i sees one of the keys [0, num_keys).
constexpr bool sees_any(const AttentionMask& mask, std::int64_t i, std::int64_t num_keys) {
  if (num_keys == 0) return false;
  const std::int64_t s = mask.stride;
  const bool near = i - num_keys < s - 1;  // the last key is nearer than `stride`, or not behind i
  switch (mask.kind) {
    case AttentionPattern::kLocal:
    case AttentionPattern::kWindow:
      return near;
    case AttentionPattern::kStrided:
      return i % s < num_keys;
    case AttentionPattern::kUnion:
      return near || i % s < num_keys;
    case AttentionPattern::kFixed:
      return i / s * s < num_keys || s <= num_keys;
    default:
      return true;
  }
}

// Visible pairs of `num_queries` queries and `num_keys` keys.
constexpr std::int64_t num_visible(const AttentionMask& mask, std::int64_t num_queries,
                                   std::int64_t num_keys) {
  if (mask.kind == AttentionPattern::kFull) return num_queries * num_keys;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < num_queries; ++i) {
    const std::int64_t end = is_causal(mask.kind) && i + 1 < num_keys ? i + 1 : num_keys;
    for (std::int64_t j = 0; j < end; ++j) count += is_visible(mask, i, j);
  }
  return count;
}
// The same among the tokens of one sequence.
constexpr std::int64_t num_visible(AttentionPattern pattern, std::int64_t stride,
                                   std::int64_t time) {
  return num_visible({pattern, stride}, time, time);
}

}  // namespace twill
