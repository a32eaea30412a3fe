// SPDX-License-Identifier: Apache-2.0
// Targets on CUDA: one block counts a batch's targets by votes (65536 of them are 64 rounds, some
// microseconds), one thread adds a mean. Both are exact, so the order does not matter.
#include "ops/layers/targets.h"

#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 1024;

__global__ __launch_bounds__(kThreads) void count_targets_kernel(
    const std::int32_t* __restrict__ targets, std::int64_t count, bool accumulate, double* out) {
  std::int64_t found = 0;
  // All threads of the block vote in every round.
  for (std::int64_t begin = 0; begin < count; begin += kThreads) {
    const std::int64_t i = begin + threadIdx.x;
    found += __syncthreads_count(i < count && targets[i] >= 0);
  }
  if (threadIdx.x == 0) *out = (accumulate ? *out : 0.0) + static_cast<double>(found);
}

__global__ void add_mean_kernel(const double* sum, const double* count, bool accumulate,
                                double* mean) {
  const double added = *count > 0.0 ? *sum / *count : 0.0;
  *mean = accumulate ? *mean + added : added;
}

}  // namespace

void count_targets(const CountTargetsArgs& args, const Device&, Queue& queue) {
  count_targets_kernel<<<1, kThreads, 0, stream_of(queue)>>>(
      pointer<std::int32_t>(args.targets), args.targets.num_elements(), args.accumulate,
      pointer<double>(args.count));
  TWILL_CUDA_CHECK_LAUNCH();
}

void add_mean(const AddMeanArgs& args, const Device&, Queue& queue) {
  add_mean_kernel<<<1, 1, 0, stream_of(queue)>>>(pointer<double>(args.sum),
                                                 pointer<double>(args.count), args.accumulate,
                                                 pointer<double>(args.mean));
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace twill::cuda
