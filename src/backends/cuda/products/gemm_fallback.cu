// SPDX-License-Identifier: Apache-2.0
// gemm without a library: a block computes a 64 x 64 tile of c, a thread 4 x 4 of it, from tiles of
// 16 columns of op(a) and rows of op(b) that lie in shared memory as f32.
//
// For what cuBLASLt refuses (misaligned rows, K = 0) and for products that are all launch. Reads
// K (M N / 64) (2 or 4 bytes) of each operand, element by element, so that any alignment will do,
// and multiplies without tensor cores. Every sum runs over K in order, by one thread: the grid
// changes no bit. Elements beyond K are zero in both operands, so Inf and NaN stay in their sums.
#include "backends/cuda/products/gemm_fallback.h"

#include <cstdint>
#include <type_traits>

#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kPart = 4;                 // rows and columns of a thread
constexpr int kSide = kTile / kPart;     // threads along one side of the tile
constexpr int kThreads = kSide * kSide;  // 256
constexpr int kPitch = kTile + 4;        // a multiple of 4 floats: 16-byte reads
constexpr int kBlocksPerSm = 4;          // 1024 threads hide the loads well enough
constexpr int kTermThreads = 256;
constexpr int kTermBlocksPerSm = 8;

template <class T, class Result>
struct Product {
  const T* a;
  const T* b;
  Result* c;
  const T* bias;         // (N) or nullptr
  const Result* addend;  // (M, N) or nullptr
  std::int64_t m, n, k;
  bool trans_a, trans_b, accumulate;
};

using Tile = float[kDepth][kPitch];

// tile[d][r] = x(row + r, depth + d) of x (rows, depths), which lies in memory like that or, when
// `by_depth`, as (depths, rows). Neighbouring threads read neighbouring elements either way.
template <class T>
__device__ __forceinline__ void load_tile(Tile& tile, const T* __restrict__ x, bool by_depth,
                                          std::int64_t row, std::int64_t rows, std::int64_t depth,
                                          std::int64_t depths) {
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
    const int r = by_depth ? i % kTile : i / kDepth;
    const int d = by_depth ? i / kTile : i % kDepth;
    const bool is_inside = row + r < rows && depth + d < depths;
    const std::int64_t at =
        by_depth ? (depth + d) * rows + row + r : (row + r) * depths + depth + d;
    tile[d][r] = is_inside ? to_f32(x[at]) : 0.0f;
  }
}

__device__ __forceinline__ void multiply_tiles(const Tile& a, const Tile& b, int row, int col,
                                               float (&sums)[kPart][kPart]) {
#pragma unroll
  for (int d = 0; d < kDepth; ++d) {
    float left[kPart], right[kPart];
    load<kPart>(&a[d][row], left);
    load<kPart>(&b[d][col], right);
#pragma unroll
    for (int i = 0; i < kPart; ++i)
#pragma unroll
      for (int j = 0; j < kPart; ++j) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
  }
}

template <class T, class Result>
__device__ __forceinline__ void store_part(const Product<T, Result>& p, std::int64_t row,
                                           std::int64_t col, const float (&sums)[kPart][kPart]) {
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
#pragma unroll
    for (int j = 0; j < kPart; ++j) {
      if (row + i >= p.m || col + j >= p.n) continue;
      const std::int64_t at = (row + i) * p.n + col + j;
      float sum = sums[i][j];
      if (p.bias != nullptr) sum += to_f32(p.bias[col + j]);
      if (p.addend != nullptr) sum += to_f32(p.addend[at]);
      if (p.accumulate) sum += to_f32(p.c[at]);
      p.c[at] = from_f32<Result>(sum);
    }
  }
}

template <class T, class Result>
__global__ __launch_bounds__(kThreads) void gemm_fallback_kernel(const Product<T, Result> p) {
  alignas(16) __shared__ Tile a_tile;
  alignas(16) __shared__ Tile b_tile;
  const int row = static_cast<int>(threadIdx.x) / kSide * kPart;
  const int col = static_cast<int>(threadIdx.x) % kSide * kPart;
  const std::int64_t across = (p.n + kTile - 1) / kTile;
  const std::int64_t tiles = (p.m + kTile - 1) / kTile * across;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t first_row = tile / across * kTile, first_col = tile % across * kTile;
    float sums[kPart][kPart] = {};
    for (std::int64_t depth = 0; depth < p.k; depth += kDepth) {
      load_tile(a_tile, p.a, p.trans_a, first_row, p.m, depth, p.k);
      load_tile(b_tile, p.b, !p.trans_b, first_col, p.n, depth, p.k);
      __syncthreads();
      multiply_tiles(a_tile, b_tile, row, col, sums);
      __syncthreads();
    }
    store_part(p, first_row + row, first_col + col, sums);
  }
}

// A block takes whole rows, so that no element costs a division.
template <class T>
__global__ __launch_bounds__(kTermThreads) void gemm_terms_kernel(
    float* __restrict__ c, const T* __restrict__ bias, const float* __restrict__ addend,
    std::int64_t rows, std::int64_t cols, bool accumulate) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    for (std::int64_t col = threadIdx.x; col < cols; col += kTermThreads) {
      const std::int64_t at = row * cols + col;
      float sum = accumulate ? c[at] : 0.0f;
      if (bias != nullptr) sum += to_f32(bias[col]);
      if (addend != nullptr) sum += addend[at];
      c[at] = sum;
    }
  }
}

template <class T, class Result>
void launch_product(const GemmArgs& args, const Device& device, Queue& queue) {
  const Product<T, Result> product{.a = pointer<T>(args.a),
                                   .b = pointer<T>(args.b),
                                   .c = pointer<Result>(args.c),
                                   .bias = pointer<T>(args.bias),
                                   .addend = pointer<Result>(args.addend),
                                   .m = args.m(),
                                   .n = args.n(),
                                   .k = args.k(),
                                   .trans_a = args.trans_a,
                                   .trans_b = args.trans_b,
                                   .accumulate = args.accumulate};
  const std::int64_t tiles = ceil_div(args.m(), kTile) * ceil_div(args.n(), kTile);
  const unsigned blocks = grid_for(tiles, kBlocksPerSm, device);
  gemm_fallback_kernel<<<blocks, kThreads, 0, stream_of(queue)>>>(product);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void gemm_fallback(const GemmArgs& args, const Device& device, Queue& queue) {
  if (args.m() == 0 || args.n() == 0) return;
  by_type(args.a.dtype(), [&]<class T>(TypeOf<T>) {
    if (args.c.dtype() == DType::kF32) return launch_product<T, float>(args, device, queue);
    TWILL_CHECK(args.c.dtype() == args.a.dtype(), "c has the type of a, or is f32");
    launch_product<T, T>(args, device, queue);
  });
}

void gemm_terms(const GemmArgs& args, const Device& device, Queue& queue) {
  if (args.m() == 0 || args.n() == 0) return;
  TWILL_CHECK(args.c.dtype() == DType::kF32, "terms are added in f32");
  const unsigned blocks = grid_for(args.m(), kTermBlocksPerSm, device);
  by_type(args.a.dtype(), [&]<class T>(TypeOf<T>) {
    gemm_terms_kernel<T><<<blocks, kTermThreads, 0, stream_of(queue)>>>(
        pointer<float>(args.c), pointer<T>(args.bias), pointer<float>(args.addend), args.m(),
        args.n(), args.accumulate);
    TWILL_CUDA_CHECK_LAUNCH();
  });
}

}  // namespace twill::cuda
