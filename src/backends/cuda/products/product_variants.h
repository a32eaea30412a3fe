// SPDX-License-Identifier: Apache-2.0
// Algorithms that the library has but does not propose: one setting of a good one changed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/cuda/products/product_file.h"

namespace twill::cuda {

enum class Setting { kTile, kCluster, kStages, kSwizzling, kInnerShape, kSplits };

// What changes the time most comes first.
inline constexpr std::array kSettings{Setting::kTile,      Setting::kCluster,    Setting::kStages,
                                      Setting::kSwizzling, Setting::kInnerShape, Setting::kSplits};

// `base` with every other value of `setting` that its capabilities allow; whether it then computes
// a given product, ProductCall::takes() says. Parts of a split sum are added by `reductions` only.
std::vector<Algorithm> variants_of(const Algorithm& base, Setting setting,
                                   std::uint32_t reductions);

}  // namespace twill::cuda
