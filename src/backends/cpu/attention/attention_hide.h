// SPDX-License-Identifier: Apache-2.0
// Pairs that are computed because their neighbours are visible: scores of hidden ones become -inf, so
// that softmax gives them a probability of exactly 0.
#pragma once

#include <cstdint>

#include "ops/attention/attention_pattern.h"

namespace twill::cpu {

// scores (num_keys, width): row r holds key first_key + r, column q the query t + q.
struct ScoreBlock {
  std::int64_t t;
  std::int64_t first_key;
  std::int64_t num_keys;
  std::int64_t width;
  float* scores;
};

// Strided patterns of small strides: hides query i from key j unless i - j is a multiple of `stride`
// or less than `band`. Pairs with j > i are left to the causal mask. Key 0 comes first.
void hide_between_teeth(std::int64_t stride, std::int64_t band, const ScoreBlock& block);

// Hides all that `mask` does not show, and the keys from `end_key` on, which do not exist.
void hide_unseen(const AttentionMask& mask, std::int64_t end_key, const ScoreBlock& block);

}  // namespace twill::cpu
