// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/targets.h"

#include "backends/reference/kernels.h"

namespace twill::reference {

void count_targets(const CountTargetsArgs& args, const Device&, Queue&) {
  const auto* targets = args.targets.as<std::int32_t>();
  double count = 0.0;
  for (std::int64_t i = 0; i < args.targets.num_elements(); ++i)
    if (targets[i] >= 0) count += 1.0;
  double& kept = *args.count.as<double>();
  kept = args.accumulate ? kept + count : count;
}

void add_mean(const AddMeanArgs& args, const Device&, Queue&) {
  const double count = *args.count.as<double>();
  const double mean = count > 0.0 ? *args.sum.as<double>() / count : 0.0;
  double& kept = *args.mean.as<double>();
  kept = args.accumulate ? kept + mean : mean;
}

}  // namespace twill::reference
