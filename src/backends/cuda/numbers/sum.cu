// SPDX-License-Identifier: Apache-2.0
// sum: reads x once (device/total.cuh). The losses of 16384 tokens are 64 KB: one block, one
// launch.
#include "ops/numbers/sum.h"

#include "backends/cuda/kernels.h"
#include "backends/cuda/numbers/total.cuh"

namespace twill::cuda {

void sum(const SumArgs& args, const Device& device, Queue& queue) {
  const TotalArgs to{.sum = args.sum, .scale = args.scale, .accumulate = args.accumulate};
  if (args.x.dtype() == DType::kF64) return total<false, double>(args.x, to, device, queue);
  TWILL_CHECK(args.x.dtype() == DType::kF32, "sum is of f32 or f64");
  total<false, float>(args.x, to, device, queue);
}

}  // namespace twill::cuda
