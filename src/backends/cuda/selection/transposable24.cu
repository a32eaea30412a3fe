// SPDX-License-Identifier: Apache-2.0
// transposable24 on CUDA: one thread per 4 x 4 block, 16 bytes of each of four rows, so that a warp
// reads 512 and writes 128 neighbouring bytes of a row.
//
// 5 B per element, 80 B a block, leave time for some 550 instructions; the search takes 186
// additions, 90 comparisons and 180 selections (device/transposable24.cuh). The last two share a
// pipe of half the rate, which allows about 80 % of copy bandwidth. Comparisons and additions in the order of the contract: any grid gives the
// same bits. Where 16-byte accesses do not fit, elements come one by one.
#include "ops/selection/transposable24.h"

#include "backends/cuda/device/selection/groups24.cuh"
#include "backends/cuda/device/selection/transposable24.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocksPerSm = 8;  // at most 64 registers a thread; all blocks are resident

template <bool kExact, bool kWhole>
__global__ __launch_bounds__(kThreads,
                             kBlocksPerSm) void transposable_kernel(const float* __restrict__ x,
                                                                    std::uint8_t* __restrict__ mask,
                                                                    std::int64_t items,
                                                                    std::int64_t cols) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t item = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; item < items;
       item += stride) {
    const std::int64_t at = quad_rows_at<4>(item, cols);
    float rows[4][4];
#pragma unroll
    for (int r = 0; r < 4; ++r) read_values<kWhole>(x + at + r * cols, rows[r]);
    unsigned magnitude[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) magnitude[i] = magnitude_bits(rows[i / 4][i % 4]);
    const unsigned bits = kExact ? best_pattern(magnitude) : greedy_pattern(magnitude);
#pragma unroll
    for (int r = 0; r < 4; ++r)
      write_flags<kWhole, 4>(mask + at + r * cols, bits >> (4 * r) & 0xfu);
  }
}

template <bool kExact, bool kWhole>
void launch(const Transposable24Args& args, const Device& device, Queue& queue) {
  const std::int64_t items = args.x.num_elements() / 16;
  const unsigned blocks = grid_for(ceil_div(items, kThreads), kBlocksPerSm, device);
  transposable_kernel<kExact, kWhole><<<blocks, kThreads, 0, stream_of(queue)>>>(
      pointer<float>(args.x), pointer<std::uint8_t>(args.mask), items, args.x.cols());
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void transposable24(const Transposable24Args& args, const Device& device, Queue& queue) {
  if (args.x.num_elements() == 0) return;
  const bool whole = is_aligned({args.x, args.mask});  // rows are multiples of four elements
  if (args.method == TransposableMethod::kExact)
    return whole ? launch<true, true>(args, device, queue)
                 : launch<true, false>(args, device, queue);
  return whole ? launch<false, true>(args, device, queue)
               : launch<false, false>(args, device, queue);
}

}  // namespace twill::cuda
