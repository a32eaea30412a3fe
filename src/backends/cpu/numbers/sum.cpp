// SPDX-License-Identifier: Apache-2.0
// sum on the cpu: one thread, ascending. It sees the losses of a micro-batch, some thousand numbers.
#include "ops/numbers/sum.h"

#include "backends/cpu/kernels.h"

namespace twill::cpu {

void sum(const SumArgs& args, const Device&, Queue&) {
  const float* x = args.x.as<float>();
  double total = 0.0;
  for (std::int64_t i = 0; i < args.x.num_elements(); ++i) total += static_cast<double>(x[i]);
  double& kept = *args.sum.as<double>();
  kept = args.scale * total + (args.accumulate ? kept : 0.0);
}

}  // namespace twill::cpu
