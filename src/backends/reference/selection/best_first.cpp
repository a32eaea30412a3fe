// SPDX-License-Identifier: Apache-2.0
#include "backends/reference/selection/best_first.h"

#include <algorithm>

namespace twill::reference {

void sort_best_first(std::vector<Scored>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
}

}  // namespace twill::reference
