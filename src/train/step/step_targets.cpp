// SPDX-License-Identifier: Apache-2.0
#include "train/step/step_targets.h"

#include "ops/layers/targets.h"
#include "ops/transfer.h"

namespace twill {

StepTargets::StepTargets(const Context& context, const Model& model, std::int64_t passes,
                         Reducer* reducer)
    : model_(model),
      passes_(passes),
      reducer_(reducer),
      sum_(model.step_targets_place().slice(0, 1)),
      divisor_(model.step_targets_place().slice(1, 1)),
      per_pass_(model.step_targets_place().slice(2, 1)) {
  const auto divisor = static_cast<double>(passes);
  copy_in(context, divisor_, &divisor);
}

void StepTargets::add(const Pass& pass, bool is_first) const {
  model_.count_targets(pass, sum_, /*accumulate=*/!is_first);
}

void StepTargets::finish(const Context& context) const {
  if (reducer_ != nullptr) reducer_->add_up(context, {&sum_, 1});
  add_mean(context, {.sum = sum_, .count = divisor_, .mean = per_pass_});
}

LossScale StepTargets::scale() const {
  return {.share = 1.0 / static_cast<double>(passes_),
          .count = counts() ? ConstView(per_pass_) : ConstView()};
}

}  // namespace twill
