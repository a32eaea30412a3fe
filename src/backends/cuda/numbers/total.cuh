// SPDX-License-Identifier: Apache-2.0
// Launches device/total.cuh: one stage where a block is enough, else a number per block and their
// sum. The cut follows from the number of elements and the device.
#pragma once

#include <cstdint>

#include "backends/cuda/device/total.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"

namespace twill::cuda {

struct TotalArgs {
  View sum;  // (1) f64
  double scale = 1.0;
  bool accumulate = false;
};

// Eight rounds of a block, 128 KB: from here on a second launch (about 2 us) is repaid.
inline constexpr std::int64_t kBytesPerBlock = 8 * kPacksInFlight * kTotalThreads * 16;

template <bool kSquares, class T>
void launch_total(const T* x, std::int64_t count, unsigned blocks, bool fits, const TotalArgs& to,
                  Queue& queue) {
  const auto kernel = fits ? total_kernel<T, kSquares, true> : total_kernel<T, kSquares, false>;
  kernel<<<blocks, kTotalThreads, 0, stream_of(queue)>>>(x, count, to.scale, to.accumulate,
                                                         pointer<double>(to.sum));
  TWILL_CUDA_CHECK_LAUNCH();
}

// to.sum (+)= to.scale Σ x, or Σ x².
template <bool kSquares, class T>
void total(ConstView x, const TotalArgs& to, const Device& device, Queue& queue) {
  const std::int64_t count = x.num_elements();
  const unsigned blocks =
      grid_for(ceil_div(x.num_bytes(), kBytesPerBlock), kTotalBlocksPerSm, device);
  if (blocks == 1)
    return launch_total<kSquares>(pointer<T>(x), count, 1, is_aligned({x}), to, queue);

  const View partials(reduction_scratch(queue, blocks * std::int64_t{sizeof(double)}), DType::kF64,
                      Shape{blocks});
  launch_total<kSquares>(pointer<T>(x), count, blocks, is_aligned({x}), {.sum = partials}, queue);
  launch_total<false>(pointer<double>(ConstView(partials)), blocks, 1, true, to, queue);
}

}  // namespace twill::cuda
