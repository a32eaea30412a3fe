// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_choice.h"

#include <algorithm>

namespace twill::cuda {

SparseChoices::SparseChoices(std::span<const SparseWay> ways, const SparseProduct& product,
                             const Device& device)
    : ways_(ways) {
  int latest = 0;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    if (!ways_[i].runs_on(device.generation) || ways_[i].workspace(product, {}, device.num_sms) < 0)
      continue;
    possible_.push_back(i);
    latest = std::max(latest, ways_[i].oldest_generation);
  }
  std::erase_if(possible_, [&](std::size_t i) { return ways_[i].oldest_generation < latest; });
}

std::vector<SparseChoice> SparseChoices::all() const {
  std::vector<SparseChoice> choices;
  for (const std::size_t way : possible_)
    for (const bool along_n : {false, true})
      for (const int swizzle : kSparseSwizzles)
        choices.push_back({way, {.along_n = along_n, .swizzle = swizzle}});
  return choices;
}

}  // namespace twill::cuda
