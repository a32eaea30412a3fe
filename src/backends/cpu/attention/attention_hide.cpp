// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention/attention_hide.h"

#include <algorithm>
#include <limits>

namespace twill::cpu {

void hide_between_teeth(std::int64_t stride, std::int64_t band, const ScoreBlock& block) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
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
