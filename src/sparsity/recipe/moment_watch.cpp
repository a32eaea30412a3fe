// SPDX-License-Identifier: Apache-2.0
#include "sparsity/recipe/moment_watch.h"

#include <cmath>
#include <numeric>

namespace twill {

bool MomentWatch::watches() const {
  return at_.phase().early_end.when == EarlyEnd::kSecondMomentSettled;
}

void MomentWatch::observe(std::int64_t step, double mean_change, double beta2) {
  const auto window = static_cast<std::size_t>(std::ceil(1.0 / (1.0 - beta2) - 1e-9));
  changes_.push_back(mean_change);
  if (changes_.size() > window) changes_.erase(changes_.begin());
  if (changes_.size() < window) return;
  const EarlyEndPart& rule = at_.phase().early_end;
  const double mean =
      std::accumulate(changes_.begin(), changes_.end(), 0.0) / static_cast<double>(window);
  const double first = rule.after * static_cast<double>(at_.num_steps());
  const bool settled = mean < rule.below;
  const bool allowed = first < static_cast<double>(step + 1);
  if (settled && allowed) at_.clock().end_early(step + 1);
}

}  // namespace twill
