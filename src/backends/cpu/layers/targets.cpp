// SPDX-License-Identifier: Apache-2.0
// Targets on the cpu: one thread. A micro-batch has some thousand of them.
#include "ops/layers/targets.h"

#include <algorithm>

#include "backends/cpu/kernels.h"

namespace twill::cpu {

void count_targets(const CountTargetsArgs& args, const Device&, Queue&) {
  const auto* targets = args.targets.as<std::int32_t>();
  const auto found = static_cast<double>(std::count_if(
      targets, targets + args.targets.num_elements(), [](std::int32_t id) { return id >= 0; }));
  double& kept = *args.count.as<double>();
  kept = args.accumulate ? kept + found : found;
}

void add_mean(const AddMeanArgs& args, const Device&, Queue&) {
  const double count = *args.count.as<double>();
  const double mean = count > 0.0 ? *args.sum.as<double>() / count : 0.0;
  double& kept = *args.mean.as<double>();
  kept = args.accumulate ? kept + mean : mean;
}

}  // namespace twill::cpu
