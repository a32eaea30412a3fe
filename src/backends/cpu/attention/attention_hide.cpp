// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention/attention_hide.h"

#include <algorithm>
#include <limits>

namespace twill::cpu {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// Queries that see key j lie side by side: [begin, end).
struct Seers {
  std::int64_t begin, end;
};

Seers seers_of(const AttentionMask& mask, std::int64_t j, const ScoreBlock& block) {
  const std::int64_t last = block.t + block.width;
  const std::int64_t end = mask.stride < last - j ? j + mask.stride : last;
  switch (mask.kind) {
    case AttentionPattern::kLocal:
      return {j, end};
    case AttentionPattern::kWindow:
      return {mask.stride <= j ? j - mask.stride + 1 : 0, end};
    default:
      return {j, last};
  }
}

bool are_neighbours(AttentionPattern kind) {
  return kind == AttentionPattern::kCausal || kind == AttentionPattern::kLocal ||
         kind == AttentionPattern::kWindow;
}

}  // namespace

void hide_unseen(const AttentionMask& mask, std::int64_t end_key, const ScoreBlock& block) {
  const std::int64_t rows = std::min(block.num_keys, end_key - block.first_key);
  std::fill(block.scores + rows * block.width, block.scores + block.num_keys * block.width,
            kHidden);
  if (mask.kind == AttentionPattern::kFull) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = block.scores + r * block.width;
    const std::int64_t j = block.first_key + r;
    if (are_neighbours(mask.kind)) {
      const Seers seen = seers_of(mask, j, block);
      const std::int64_t begin = std::clamp<std::int64_t>(seen.begin - block.t, 0, block.width);
      const std::int64_t end = std::clamp<std::int64_t>(seen.end - block.t, begin, block.width);
      std::fill(row, row + begin, kHidden);
      std::fill(row + end, row + block.width, kHidden);
      continue;
    }
    for (std::int64_t q = 0; q < block.width; ++q)
      if (!is_visible(mask, block.t + q, j)) row[q] = kHidden;
  }
}

void hide_between_teeth(std::int64_t stride, std::int64_t band, const ScoreBlock& block) {
  const std::int64_t end = block.t + block.width;
  for (std::int64_t j = 0; j < block.num_keys; ++j) {
    float* row = block.scores + j * block.width;
    std::int64_t i = std::max(j + band, block.t);
    for (std::int64_t behind = (i - j) % stride; i < end; ++i) {
      if (behind != 0) row[i - block.t] = kHidden;
      if (++behind == stride) behind = 0;
    }
  }
}

}  // namespace twill::cpu
