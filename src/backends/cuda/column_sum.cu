// SPDX-License-Identifier: Apache-2.0
// column_sum: a block takes a tile of columns (32 lanes, 16 bytes each: 256 columns of bf16) over a
// chunk of rows; its eight warps take every eighth row, keep their sums in registers and meet in
// shared memory. The chunks' sums are added by add_partials_kernel.
//
// Bound by reading x once: 210 MB at 16384 x 6400 bf16, beside 0.5 MB of partial sums. A thread has
// eight 16-byte loads in flight and 1024 threads fit an SM: 128 KB, far beyond bandwidth times
// latency. Tiles times chunks fill the device once. Tiles and chunks follow from the shape, and a
// column's order of sums from them: alignment changes no bit.
#include "ops/column_sum.h"

#include <algorithm>
#include <cstdint>

#include "backends/cuda/check.h"
#include "backends/cuda/device/row.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/partial_sums.cuh"
#include "backends/cuda/queue.h"
#include "backends/cuda/scratch.h"

namespace twill::cuda {
namespace {

constexpr int kWarps = 8, kThreads = kWarps * kWarp;
constexpr int kBlocksPerSm = 4;  // 64 registers: 32 for loads in flight
constexpr int kRowsInFlight = 8;
constexpr std::int64_t kMinRows = kWarps * kRowsInFlight;  // of a chunk: one round of loads

template <class T>
constexpr int kTile = kWarp * 16 / static_cast<int>(sizeof(T));

// The sums over rows 0, kWarps, 2 kWarps, … of `rows` rows from x on, which begins with the tile's
// row of this warp: to of_warp[column of the tile].
template <class T>
__device__ __forceinline__ void sum_packs(const T* x, int rows, std::int64_t cols, float* of_warp) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t column = std::int64_t{blockIdx.x} * kTile<T> + lane * kVec<T>;
  float sums[kVec<T>] = {};
  if (column < cols) {
    const std::int64_t step = kWarps * cols;
    const T* from = x + column;
    for (int row = 0; row < rows; row += kWarps * kRowsInFlight) {
      uint4 bits[kRowsInFlight] = {};  // a row behind the end adds zero
#pragma unroll
      for (int r = 0; r < kRowsInFlight; ++r, from += step)
        if (row + r * kWarps < rows) bits[r] = load16_constant(from);
#pragma unroll
      for (int r = 0; r < kRowsInFlight; ++r) {
        float values[kVec<T>];
        unpack<T>(bits[r], values);
#pragma unroll
        for (int i = 0; i < kVec<T>; ++i) sums[i] += values[i];
      }
    }
  }
  store<kVec<T>>(of_warp + lane * kVec<T>, sums);
}

// The same for any alignment: lanes take neighbouring elements.
template <class T>
__device__ __forceinline__ void sum_elements(const T* x, int rows, std::int64_t cols,
                                             float* of_warp) {
  for (int c = static_cast<int>(threadIdx.x) % kWarp; c < kTile<T>; c += kWarp) {
    const std::int64_t column = std::int64_t{blockIdx.x} * kTile<T> + c;
    float sum = 0.0f;
    if (column < cols) {
#pragma unroll 8
      for (int row = 0; row < rows; row += kWarps) sum += to_f32(x[row * cols + column]);
    }
    of_warp[c] = sum;
  }
}

// partials (chunks, cols).
template <class T, bool kAligned>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void column_sum_kernel(
    const T* __restrict__ x, std::int64_t rows, std::int64_t cols, std::int64_t chunk_rows,
    float* __restrict__ partials) {
  alignas(sizeof(float) * kVec<T>) __shared__ float of_warps[kWarps][kTile<T>];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t begin = blockIdx.y * chunk_rows + warp;
  const std::int64_t end = min((blockIdx.y + 1) * chunk_rows, rows);
  const int left = static_cast<int>(end - begin);  // below 2^31: so many rows fill a memory
  if constexpr (kAligned)
    sum_packs(x + begin * cols, left, cols, of_warps[warp]);
  else
    sum_elements(x + begin * cols, left, cols, of_warps[warp]);
  __syncthreads();

  const int c = static_cast<int>(threadIdx.x);
  const std::int64_t column = std::int64_t{blockIdx.x} * kTile<T> + c;
  if (c >= kTile<T> || column >= cols) return;
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += of_warps[w][c];
  partials[blockIdx.y * cols + column] = sum;
}

static_assert(kTile<float> <= kThreads && kTile<__nv_bfloat16> <= kThreads,
              "a thread per column of the tile writes its sum");

template <class T>
void launch(const ColumnSumArgs& args, const Device& device, Queue& queue) {
  const std::int64_t rows = args.x.rows(), cols = args.x.cols();
  const std::int64_t tiles = ceil_div(cols, kTile<T>);
  const std::int64_t resident = std::int64_t{std::max(device.num_sms, 1)} * kBlocksPerSm;
  const std::int64_t useful = std::max<std::int64_t>(ceil_div(rows, kMinRows), 1);
  const std::int64_t wanted = std::clamp<std::int64_t>(resident / tiles, 1, useful);
  const std::int64_t chunk_rows = std::max<std::int64_t>(ceil_div(rows, wanted), 1);
  const std::int64_t chunks = std::max<std::int64_t>(ceil_div(rows, chunk_rows), 1);

  auto* partials = reinterpret_cast<float*>(
      reduction_scratch(queue, chunks * cols * std::int64_t{sizeof(float)}));
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(chunks));
  const auto kernel = is_aligned({args.x}) && cols % kVec<T> == 0 ? column_sum_kernel<T, true>
                                                                  : column_sum_kernel<T, false>;
  kernel<<<grid, kThreads, 0, stream_of(queue)>>>(pointer<T>(args.x), rows, cols, chunk_rows,
                                                  partials);
  TWILL_CUDA_CHECK_LAUNCH();
  add_partials(partials, chunks, cols,
               {.first = pointer<float>(args.sum),
                .second = nullptr,
                .split = cols,
                .accumulate = args.accumulate},
               queue);
}

}  // namespace

void column_sum(const ColumnSumArgs& args, const Device& device, Queue& queue) {
  if (args.x.cols() == 0) return;  // no rows still give zeros
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) { launch<T>(args, device, queue); });
}

}  // namespace twill::cuda
