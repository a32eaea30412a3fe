// SPDX-License-Identifier: Apache-2.0
// column_sum: one block per SM, over a run of whole rows (or of a tile of them, where a row has
// more 16-byte pieces than a block has threads). A thread owns one piece of the row and takes every
// n-th row of the run, n being how often the row's pieces fit the block: 5 for 1600 columns of
// bf16, with 1000 threads and no lane idle. The block adds its n sums in shared memory, and
// add_partials_kernel those of the blocks.
//
// Bound by reading x once: 210 MB at 16384 x 6400 bf16, beside 3.4 MB of partial sums. A thread has
// seven pieces in flight, in shared memory: 67 to 112 KB of an SM at 4800 to 1600 columns, where
// bandwidth times latency asks for 32. Runs differ by one row at most, so all SMs end together. The
// cut follows from shape and device, and a column's order of sums from it: alignment changes no
// bit.
#include "ops/numbers/column_sum.h"

#include <algorithm>
#include <cstdint>

#include "backends/cuda/device/async_copy.cuh"
#include "backends/cuda/device/row.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/numbers/partial_sums.cuh"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"

namespace twill::cuda {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kRing = 8;        // of a thread: seven pieces under way and one at hand
constexpr int kMaxSlices = 64;  // are added one after the other
constexpr std::int64_t kBytesPerThread = kRing * 16;

// The sums over rows begin, begin + step, … before end of the piece at `column`.
template <class T>
__device__ __forceinline__ void sum_pieces(const T* x, std::int64_t begin, std::int64_t end,
                                           std::int64_t cols, std::int64_t column, int step,
                                           SharedAddress ring, float (&sums)[kVec<T>]) {
  const std::int64_t stride = step * cols;
  const unsigned pitch = blockDim.x * 16;     // from one slot of the thread to the next
  const T* from = x + begin * cols + column;  // of the row asked for next
  std::int64_t next = begin;
  const auto fetch = [&](int slot) {
    if (next < end) copy16_async(ring + slot * pitch, from);
    commit_copies();
    next += step;
    from += stride;
  };
#pragma unroll
  for (int slot = 0; slot < kRing - 1; ++slot) fetch(slot);
  int slot = 0;
  for (std::int64_t row = begin; row < end; row += step, slot = (slot + 1) % kRing) {
    fetch((slot + kRing - 1) % kRing);  // the slot of the row before, which is summed
    wait_for_copies<kRing - 1>();
    float values[kVec<T>];
    unpack<T>(read16(ring + slot * pitch), values);
#pragma unroll
    for (int i = 0; i < kVec<T>; ++i) sums[i] += values[i];
  }
}

// The same for any alignment and a piece that the row cuts off.
template <class T>
__device__ __forceinline__ void sum_elements(const T* x, std::int64_t begin, std::int64_t end,
                                             std::int64_t cols, std::int64_t column, int step,
                                             float (&sums)[kVec<T>]) {
#pragma unroll 2
  for (std::int64_t row = begin; row < end; row += step) {
#pragma unroll
    for (int i = 0; i < kVec<T>; ++i)
      if (column + i < cols) sums[i] += to_f32(x[row * cols + column + i]);
  }
}

// Block (tile, run): pieces of a tile are `pieces`, and the block has a whole number of slices of
// that many threads. partials (runs, cols).
template <class T, bool kAligned>
__global__ __launch_bounds__(kMaxThreads) void column_sum_kernel(const T* x, std::int64_t rows,
                                                                 std::int64_t cols, int pieces,
                                                                 float* partials) {
  constexpr int kN = kVec<T>;
  extern __shared__ uint4 slots[];
  const int thread = static_cast<int>(threadIdx.x), slice = thread / pieces;
  const int slices = static_cast<int>(blockDim.x) / pieces;
  const std::int64_t tile = std::int64_t{blockIdx.x} * pieces * kN;
  const std::int64_t column = tile + thread % pieces * kN;
  const std::int64_t begin = blockIdx.y * rows / gridDim.y + slice;
  const std::int64_t end = (blockIdx.y + std::int64_t{1}) * rows / gridDim.y;

  float sums[kN] = {};
  if (column < cols) {
    if constexpr (kAligned)
      sum_pieces(x, begin, end, cols, column, slices, address_of(slots + thread), sums);
    else
      sum_elements(x, begin, end, cols, column, slices, sums);
  }
  let_next_grid_start();
  __syncthreads();  // the slots are read: the sums take their place
  auto* of_slices = reinterpret_cast<float*>(slots);  // (slices, pieces kN)
#pragma unroll
  for (int i = 0; i < kN; ++i) of_slices[thread * kN + i] = sums[i];
  __syncthreads();
  for (int c = thread; c < pieces * kN; c += static_cast<int>(blockDim.x)) {
    if (tile + c >= cols) break;
    float sum = 0.0f;
#pragma unroll 4
    for (int s = 0; s < slices; ++s) sum += of_slices[s * pieces * kN + c];
    partials[blockIdx.y * cols + tile + c] = sum;
  }
}

template <class T>
void launch(const ColumnSumArgs& args, const Device& device, Queue& queue) {
  const std::int64_t rows = args.x.rows(), cols = args.x.cols();
  const std::int64_t most =
      std::min<std::int64_t>(kMaxThreads, shared_bytes_per_block(device) / kBytesPerThread);
  const std::int64_t of_row = ceil_div(cols, kVec<T>);
  const std::int64_t pieces = ceil_div(of_row, ceil_div(of_row, most));
  const std::int64_t tiles = ceil_div(of_row, pieces);
  const std::int64_t slices =
      std::clamp<std::int64_t>(std::min(most / pieces, rows), 1, kMaxSlices);
  const std::int64_t useful = std::max<std::int64_t>(ceil_div(rows, slices), 1);
  const std::int64_t runs = std::clamp<std::int64_t>(device.num_sms / tiles, 1, useful);
  const std::int64_t threads = pieces * slices;

  auto* partials =
      reinterpret_cast<float*>(reduction_scratch(queue, runs * cols * std::int64_t{sizeof(float)}));
  const bool fits = is_aligned({args.x}) && cols % kVec<T> == 0;
  launch_with_shared(fits ? column_sum_kernel<T, true> : column_sum_kernel<T, false>,
                     dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(runs)),
                     static_cast<int>(threads), threads * kBytesPerThread, queue,
                     pointer<T>(args.x), rows, cols, static_cast<int>(pieces), partials);
  add_partials(partials, runs, cols,
               {.to = {pointer<float>(args.sum)}, .columns = cols, .accumulate = args.accumulate},
               device, queue);
}

}  // namespace

void column_sum(const ColumnSumArgs& args, const Device& device, Queue& queue) {
  if (args.x.cols() == 0) return;  // no rows still give zeros
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) { launch<T>(args, device, queue); });
}

}  // namespace twill::cuda
