// SPDX-License-Identifier: Apache-2.0
// select24 on CUDA. Groups within a row: a thread takes 16 bytes of x, one group of f32 or two of
// bf16, four of them in flight. Groups within a column: 16 bytes of each of four rows.
//
// Bound by memory: 5 B per element of f32, 3 B of bf16; about 30 instructions a group, where the
// bytes of a group leave time for 140 (f32) or 83 (bf16). No arithmetic: any grid gives the same
// bits. Where 16-byte accesses do not fit, a thread takes one group, element by element.
#include "ops/selection/select24.h"

#include "backends/cuda/device/selection/groups24.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 5;  // at most 48 registers a thread; all blocks are resident
constexpr int kInFlight = 4;     // 16-byte loads of a thread: 80 KB on an SM

// kPacks packs of V elements, `stride` packs apart; all loads stand before the first store.
template <int kPacks, int V, bool kWhole, class T>
__device__ __forceinline__ void select_packs(const T* x, std::uint8_t* mask, std::int64_t pack,
                                             std::int64_t stride) {
  float in[kPacks][V];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) read_values<kWhole>(x + (pack + p * stride) * V, in[p]);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < V; i += 4)
      bits |= keep_two(in[p][i], in[p][i + 1], in[p][i + 2], in[p][i + 3]) << i;
    write_flags<kWhole, V>(mask + (pack + p * stride) * V, bits);
  }
}

template <class T, int V, bool kWhole>
__global__ __launch_bounds__(kThreads,
                             kBlocksPerSm) void select_rows_kernel(const T* __restrict__ x,
                                                                   std::uint8_t* __restrict__ mask,
                                                                   std::int64_t packs) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  std::int64_t pack = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; pack + (kInFlight - 1) * stride < packs; pack += kInFlight * stride)
    select_packs<kInFlight, V, kWhole>(x, mask, pack, stride);
  for (; pack < packs; pack += stride) select_packs<1, V, kWhole>(x, mask, pack, stride);
}

template <class T, int V, bool kWhole>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void select_columns_kernel(
    const T* __restrict__ x, std::uint8_t* __restrict__ mask, std::int64_t items,
    std::int64_t cols) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t item = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; item < items;
       item += stride) {
    const std::int64_t at = quad_rows_at<V>(item, cols);
    float in[4][V];
#pragma unroll
    for (int r = 0; r < 4; ++r) read_values<kWhole>(x + at + r * cols, in[r]);
    unsigned bits[4] = {};
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const unsigned keep = keep_two(in[0][i], in[1][i], in[2][i], in[3][i]);
#pragma unroll
      for (int r = 0; r < 4; ++r) bits[r] |= (keep >> r & 1u) << i;
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) write_flags<kWhole, V>(mask + at + r * cols, bits[r]);
  }
}

template <class T, int V, bool kWhole>
void launch_rows(const Select24Args& args, const Device& device, Queue& queue) {
  const std::int64_t packs = args.x.num_elements() / V;
  const unsigned blocks = grid_for(ceil_div(packs, kThreads), kBlocksPerSm, device);
  select_rows_kernel<T, V, kWhole><<<blocks, kThreads, 0, stream_of(queue)>>>(
      pointer<T>(args.x), pointer<std::uint8_t>(args.mask), packs);
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class T, int V, bool kWhole>
void launch_columns(const Select24Args& args, const Device& device, Queue& queue) {
  const std::int64_t items = args.x.num_elements() / (4 * V);
  const unsigned blocks = grid_for(ceil_div(items, kThreads), kBlocksPerSm, device);
  select_columns_kernel<T, V, kWhole><<<blocks, kThreads, 0, stream_of(queue)>>>(
      pointer<T>(args.x), pointer<std::uint8_t>(args.mask), items, args.x.cols());
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void select24(const Select24Args& args, const Device& device, Queue& queue) {
  if (args.x.num_elements() == 0) return;
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) {
    constexpr int V = kVec<T>;
    const bool aligned = is_aligned({args.x, args.mask});
    if (args.axis == GroupAxis::kWithinRow) {
      // Rows follow each other without a gap: groups do not care where one ends.
      if (aligned && args.x.num_elements() % V == 0)
        return launch_rows<T, V, true>(args, device, queue);
      return launch_rows<T, 4, false>(args, device, queue);
    }
    if (aligned && args.x.cols() % V == 0) return launch_columns<T, V, true>(args, device, queue);
    return launch_columns<T, 1, false>(args, device, queue);
  });
}

}  // namespace twill::cuda
