// SPDX-License-Identifier: Apache-2.0
// The pairs that a call shows, as the kernels of attention read them.
#pragma once

#include <algorithm>
#include <limits>

#include "backends/cuda/device/attention/attention_pairs.cuh"
#include "ops/attention/attention.h"

namespace twill::cuda {

inline PairRule rule_of(const AttentionMask& mask, const AttentionExtents& is) {
  constexpr int kAll = std::numeric_limits<int>::max();
  const int keys = static_cast<int>(is.S);
  const int teeth = static_cast<int>(
      std::clamp<std::int64_t>(mask.stride, 1, std::max<std::int64_t>({is.T, is.S, 1})));
  switch (mask.kind) {
    case AttentionPattern::kCausal:
      break;
    case AttentionPattern::kLocal:
      return {PairRule::kWindow, teeth, 1};
    case AttentionPattern::kStrided:
      return {PairRule::kComb, 0, teeth};
    case AttentionPattern::kUnion:
      return {PairRule::kComb, teeth, teeth};
    case AttentionPattern::kFixed:
      return {PairRule::kBlocks, 0, teeth};
    case AttentionPattern::kFull:
      return {PairRule::kWindow, kAll, 1, keys};
    case AttentionPattern::kWindow:
      return {PairRule::kWindow, teeth, 1, std::min(teeth - 1, keys)};
  }
  return {PairRule::kWindow, kAll, 1};
}

}  // namespace twill::cuda
