// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention_hide.h"

#include <algorithm>
#include <limits>

namespace twill::cpu {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

bool has_comb(AttentionPattern pattern) {
  return pattern == AttentionPattern::kStrided || pattern == AttentionPattern::kUnion;
}

// Queries from j up to this one, exclusive, see key j without a gap.
std::int64_t seen_until(AttentionPattern pattern, std::int64_t stride, std::int64_t j,
                        std::int64_t end) {
  switch (pattern) {
    case AttentionPattern::kCausal:
      return end;
    case AttentionPattern::kLocal:
    case AttentionPattern::kUnion:
      // Strides may be as large as they like: no sum that could overflow.
      return stride >= end - j ? end : j + stride;
    case AttentionPattern::kStrided:
      return j;
    case AttentionPattern::kFixed:
      if (j % stride == stride - 1) return end;
      return stride >= end ? end : (j / stride + 1) * stride;
  }
  return end;
}

// Hides queries [begin, end) from key j, but for those a multiple of `comb` away; 0: no comb.
// `row` begins with query t.
void hide_queries(float* row, std::int64_t t, std::int64_t begin, std::int64_t end, std::int64_t j,
                  std::int64_t comb) {
  while (begin < end) {
    const std::int64_t behind = comb > 0 ? (begin - j) % comb : 1;
    const std::int64_t gap = behind == 0 ? 0 : comb > 0 ? comb - behind : end - begin;
    const std::int64_t tooth = begin + std::min(gap, end - begin);
    std::fill(row + (begin - t), row + (tooth - t), kHidden);
    begin = tooth + 1;
  }
}

}  // namespace

void hide_pairs(AttentionPattern pattern, std::int64_t stride, const ScoreBlock& block) {
  const std::int64_t end = block.t + block.width;
  for (std::int64_t j = 0; j < block.num_keys; ++j) {
    const std::int64_t begin = std::max({seen_until(pattern, stride, j, end), j, block.t});
    hide_queries(block.scores + j * block.width, block.t, begin, end, j,
                 has_comb(pattern) ? stride : 0);
  }
}

}  // namespace twill::cpu
