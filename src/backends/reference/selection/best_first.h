// SPDX-License-Identifier: Apache-2.0
// The order of every selection: best score first, and of equal ones the earlier.
#pragma once

#include <cstdint>
#include <vector>

namespace twill::reference {

struct Scored {
  double score;  // of float or double: the order is the same
  std::int64_t index;
};

// Not a template: sorting is slow to compile, 3 s for every kind of score.
void sort_best_first(std::vector<Scored>& candidates);

template <class Score>
void sort_best_first(std::vector<std::int64_t>& indices, const Score& score) {
  std::vector<Scored> candidates;
  candidates.reserve(indices.size());
  for (const std::int64_t i : indices) candidates.push_back({static_cast<double>(score(i)), i});
  sort_best_first(candidates);
  for (std::size_t k = 0; k < indices.size(); ++k) indices[k] = candidates[k].index;
}

}  // namespace twill::reference
