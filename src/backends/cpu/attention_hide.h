// SPDX-License-Identifier: Apache-2.0
// Patterns of attention other than the causal one: scores of hidden pairs become -inf, so that
// softmax gives them a probability of exactly 0. Nothing is saved, nothing else changes.
#pragma once

#include <cstdint>

#include "ops/attention_pattern.h"

namespace twill::cpu {

// scores (num_keys, width): row j holds key j, column q the query t + q. Pairs with j > t + q are
// left to the causal mask.
struct ScoreBlock {
  std::int64_t t;
  std::int64_t num_keys;
  std::int64_t width;
  float* scores;
};

void hide_pairs(AttentionPattern pattern, std::int64_t stride, const ScoreBlock& block);

}  // namespace twill::cpu
