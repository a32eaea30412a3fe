// SPDX-License-Identifier: Apache-2.0
// Which pairs (query i, key j) attention computes. All patterns are causal and every query sees
// itself. kFixed, T no multiple of `stride`: the partial last block sees the end of every full
// block, the last one included; its own end does not exist.
#pragma once

#include <cstdint>

namespace twill {

enum class AttentionPattern : std::uint8_t {
  kCausal,   // j <= i
  kLocal,    // 0 <= i - j < stride
  kStrided,  // j <= i and (i - j) % stride == 0
  kUnion,    // kLocal or kStrided
  kFixed,    // j <= i, and j in the block of `stride` positions of i, or the last of any block
};

constexpr bool is_visible(AttentionPattern pattern, std::int64_t stride, std::int64_t i,
                          std::int64_t j) {
  if (j > i) return false;
  switch (pattern) {
    case AttentionPattern::kCausal:
      return true;
    case AttentionPattern::kLocal:
      return i - j < stride;
    case AttentionPattern::kStrided:
      return (i - j) % stride == 0;
    case AttentionPattern::kUnion:
      return i - j < stride || (i - j) % stride == 0;
    case AttentionPattern::kFixed:
      return i / stride == j / stride || j % stride == stride - 1;
  }
  return false;
}

// Visible pairs of a sequence of `time` tokens.
constexpr std::int64_t num_visible(AttentionPattern pattern, std::int64_t stride,
                                   std::int64_t time) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < time; ++i)
    for (std::int64_t j = 0; j <= i; ++j) count += is_visible(pattern, stride, i, j);
  return count;
}

}  // namespace twill
