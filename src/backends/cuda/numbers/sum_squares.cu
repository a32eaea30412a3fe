// SPDX-License-Identifier: Apache-2.0
// sum_squares: reads x once (device/total.cuh), in two stages where a block is not enough.
#include "ops/numbers/sum_squares.h"

#include "backends/cuda/kernels.h"
#include "backends/cuda/numbers/total.cuh"

namespace twill::cuda {

void sum_squares(const SumSquaresArgs& args, const Device& device, Queue& queue) {
  by_type(args.x.dtype(),
          [&]<class T>(TypeOf<T>) { total<true, T>(args.x, {.sum = args.sum}, device, queue); });
}

}  // namespace twill::cuda
