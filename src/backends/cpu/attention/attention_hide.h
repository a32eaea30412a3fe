// SPDX-License-Identifier: Apache-2.0
// Strided patterns of small strides, computed densely: scores of hidden pairs become -inf, so that
// softmax gives them a probability of exactly 0.
#pragma once

#include <cstdint>

namespace twill::cpu {

// scores (num_keys, width): row j holds key j, column q the query t + q. Pairs with j > t + q are
// left to the causal mask.
struct ScoreBlock {
  std::int64_t t;
  std::int64_t num_keys;
  std::int64_t width;
  float* scores;
};

// Hides query i from key j unless i - j is a multiple of `stride` or less than `band`.
void hide_between_teeth(std::int64_t stride, std::int64_t band, const ScoreBlock& block);

}  // namespace twill::cpu
