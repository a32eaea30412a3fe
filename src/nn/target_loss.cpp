// SPDX-License-Identifier: Apache-2.0
#include "nn/target_loss.h"

#include "base/check.h"
#include "base/require.h"
#include "ops/layers/targets.h"
#include "ops/numbers/sum.h"
#include "ops/transfer.h"

namespace twill {

TargetLoss::TargetLoss(Builder& builder, std::int64_t most, std::int64_t classes)
    : classes_(classes) {
  builder.state(targets_, DType::kI32, {most});
  builder.state(losses_, wide_type(builder.options().dtype), {most});
  builder.state(sum_, DType::kF64, {1});
  builder.state(result_, DType::kF64, {2});
  if (!builder.options().training) builder.state(best_, DType::kI32, {most});
}

void TargetLoss::load(const Pass& pass, ConstView targets) {
  const auto* ids = targets.as<std::int32_t>();
  loaded_ = targets.num_elements();
  for (std::int64_t i = 0; i < loaded_; ++i)
    require(ids[i] >= -1 && ids[i] < classes_,
            "target id {} is outside the model's vocabulary of {}", ids[i], classes_);
  copy_in(pass.context, targets_.slice(0, loaded_), ids);
}

void TargetLoss::count(const Pass& pass) const {
  count_into(pass, result_.slice(1, 1), /*accumulate=*/false);
}

void TargetLoss::count_into(const Pass& pass, View count, bool accumulate) const {
  count_targets(pass.context, {.targets = targets(), .count = count, .accumulate = accumulate});
}

void TargetLoss::add_mean(const Pass& pass, ConstView count, View mean, bool accumulate) const {
  sum(pass.context, {.x = losses(), .sum = sum_});
  twill::add_mean(pass.context,
                  {.sum = sum_, .count = count_of(count), .mean = mean, .accumulate = accumulate});
}

PassLoss TargetLoss::read(const Pass& pass) const {
  add_mean(pass, {}, result_.slice(0, 1), /*accumulate=*/false);
  double values[2] = {};
  copy_out(pass.context, values, result_);
  return {.mean = values[0], .targets = values[1]};
}

std::vector<TargetScore> TargetLoss::scores(const Pass& pass) const {
  TWILL_CHECK(best_, "scores come from a model built for inference");
  const HostCopy ids(pass.context, targets()), losses(pass.context, this->losses());
  const HostCopy best(pass.context, this->best());
  std::vector<TargetScore> scores(static_cast<std::size_t>(loaded_));
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::int32_t target = ids.view().as<std::int32_t>()[i];
    if (target < 0) continue;
    scores[i].loss = losses_.dtype() == DType::kF64
                         ? losses.view().as<double>()[i]
                         : static_cast<double>(losses.view().as<float>()[i]);
    scores[i].greedy = best.view().as<std::int32_t>()[i] == target;
  }
  return scores;
}

}  // namespace twill
