// SPDX-License-Identifier: Apache-2.0
// embedding on CUDA.
//
// Forward: a warp per token. Bound by memory: out is written and at most as much of the table read.
//
// Backward without atomics: tokens are sorted together with their places by a stable radix sort
// (16 bits at GPT-2's vocabulary: two passes, some 20 us at 65536 tokens), so that a table row's
// terms stand together in ascending (b, t). Then
//
//   tiles   a block adds 32 places of the sorted order, whatever tokens they hold: work is even,
//           and a token with 5000 places is the work of 157 blocks. A run of equal tokens that
//           begins in the tile is added to its table row; one that comes from before, to scratch.
//   finish  the block of the tile in which a run begins that crosses tiles adds its other parts.
//
// So every table row is summed in ascending (b, t), in pieces that the tokens alone fix. Positions:
// a column sum over the batch, in ascending b.
//
// Bound by memory: dout is read twice; table rows that occur are read and written once, and an
// eighth as many bytes as dout's elements are scratch (6 MB at 65536 x 768).
#include "ops/layers/embedding.h"

#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "backends/cuda/device/layers/embedding_backward.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"

namespace twill::cuda {
namespace embedding {
namespace {

constexpr int kBlocksPerSm = 8;  // every grid that strides: all its blocks are resident

template <class T>
struct Forward {
  const std::int32_t* tokens;  // (rows)
  const T* token_table;        // (V, width)
  const T* position_table;     // (…, width) from first_position on; or nullptr
  T* out;                      // (rows, width)
  std::int64_t rows;
  std::int64_t length;  // tokens of a sequence
  std::int64_t width;
};

template <class T, int N, bool kPositions>
__global__ __launch_bounds__(kThreads) void forward_kernel(Forward<T> p) {
  constexpr int kWarps = kThreads / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp; row < p.rows;
       row += std::int64_t{gridDim.x} * kWarps) {
    const T* token = p.token_table + p.tokens[row] * p.width;
    const T* position = kPositions ? p.position_table + row % p.length * p.width : nullptr;
    T* out = p.out + row * p.width;
#pragma unroll 1
    for (std::int64_t first = lane * N; first < p.width; first += kRowsInFlight * kWarp * N) {
      Piece<T, N> x[kRowsInFlight], y[kRowsInFlight];
      const auto at = [&](int i) { return first + i * kWarp * N; };
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        if (at(i) < p.width) x[i] = read<N>(token + at(i));
        if (kPositions && at(i) < p.width) y[i] = read<N>(position + at(i));
      }
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        if (at(i) >= p.width) continue;
        if constexpr (kPositions) {
          float sum[N];
          values<T>(x[i], sum);
          add<T>(sum, y[i]);
          store(out + at(i), sum);
        } else {
          *reinterpret_cast<Piece<T, N>*>(out + at(i)) = x[i];
        }
      }
    }
  }
}

__global__ __launch_bounds__(kThreads) void number_kernel(std::uint32_t* places,
                                                          std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride)
    places[i] = static_cast<std::uint32_t>(i);
}

// A block's threads for a row: as many as it has pieces, in whole warps.
int threads_for(std::int64_t pieces) {
  return static_cast<int>(std::min<std::int64_t>(kThreads, ceil_div(pieces, kWarp) * kWarp));
}

template <class T, int N>
void launch_forward(const Forward<T>& problem, const Device& device, Queue& queue) {
  const auto kernel =
      problem.position_table != nullptr ? forward_kernel<T, N, true> : forward_kernel<T, N, false>;
  const unsigned blocks = grid_for(ceil_div(problem.rows, kThreads / kWarp), kBlocksPerSm, device);
  kernel<<<blocks, kThreads, 0, stream_of(queue)>>>(problem);
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class T>
Backward<T> sort_tokens(const EmbeddingBackwardArgs& args, const Device& device, Queue& queue) {
  const std::int64_t count = args.tokens.num_elements(), width = args.dtoken_table.cols();
  TWILL_CHECK(count <= INT32_MAX, "places are numbered in 32 bits");
  const auto last_token = static_cast<std::uint64_t>(args.dtoken_table.rows() - 1);
  const int bits = std::max(1, static_cast<int>(std::bit_width(last_token)));
  // In scratch, one behind the other: places as they are, sorted tokens, their places, parts, and
  // what the sort wants. Without memory the sort only says how much.
  const std::int64_t words_bytes = ceil_div(4 * count, 256) * 256;
  const std::int64_t parts_bytes = ceil_div(4 * ceil_div(count, kTile) * width, 256) * 256;
  std::byte* scratch = nullptr;
  std::size_t sort_bytes = 0;
  const auto words = [&](int i) {
    return scratch == nullptr ? nullptr
                              : reinterpret_cast<std::uint32_t*>(scratch + i * words_bytes);
  };
  const auto sort = [&](void* memory) {
    const auto* tokens = reinterpret_cast<const std::uint32_t*>(args.tokens.bytes());
    TWILL_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(memory, sort_bytes, tokens, words(1), words(0),
                                                     words(2), static_cast<int>(count), 0, bits,
                                                     stream_of(queue)));
  };
  sort(nullptr);
  scratch = reduction_scratch(
      queue, 3 * words_bytes + parts_bytes + static_cast<std::int64_t>(sort_bytes));
  std::byte* parts = scratch + 3 * words_bytes;

  number_kernel<<<grid_for(ceil_div(count, kThreads), kBlocksPerSm, device), kThreads, 0,
                  stream_of(queue)>>>(words(0), count);
  TWILL_CUDA_CHECK_LAUNCH();
  sort(parts + parts_bytes);
  return {.sorted = {words(1), words(2), count},
          .dout = pointer<T>(args.dout),
          .dtable = pointer<float>(args.dtoken_table),
          .parts = reinterpret_cast<float*>(parts),
          .width = width};
}

template <class T, int N>
void launch_tiles(const Backward<T>& problem, Queue& queue) {
  constexpr int M = N == 1 ? 1 : kVec<float>;
  const auto tiles = static_cast<unsigned>(ceil_div(problem.sorted.count, kTile));
  tile_kernel<T, N>
      <<<tiles, threads_for(ceil_div(problem.width, N)), 0, stream_of(queue)>>>(problem);
  TWILL_CUDA_CHECK_LAUNCH();
  finish_kernel<M><<<tiles, threads_for(ceil_div(problem.width, M)), 0, stream_of(queue)>>>(
      problem.sorted, problem.parts, problem.dtable, problem.width);
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class T, int N>
void launch_positions(const EmbeddingBackwardArgs& args, const Device& device, Queue& queue) {
  const std::int64_t batch = args.dout.shape()[0], plane = args.dout.num_elements() / batch;
  const unsigned blocks = grid_for(ceil_div(ceil_div(plane, N), kThreads), kBlocksPerSm, device);
  position_kernel<T, N><<<blocks, kThreads, 0, stream_of(queue)>>>(
      pointer<T>(args.dout), pointer<float>(args.dposition_table), batch, plane);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace
}  // namespace embedding

void embedding_forward(const EmbeddingForwardArgs& args, const Device& device, Queue& queue) {
  if (args.out.num_elements() == 0) return;
  by_type(args.out.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    embedding::Forward<T> problem{.tokens = pointer<std::int32_t>(args.tokens),
                                  .token_table = pointer<T>(args.token_table),
                                  .position_table = pointer<T>(args.position_table),
                                  .out = pointer<T>(args.out),
                                  .rows = args.out.rows(),
                                  .length = args.out.shape()[1],
                                  .width = args.out.cols()};
    if (args.position_table) problem.position_table += args.first_position * problem.width;
    if (problem.width % kVec<T> == 0 &&
        is_aligned({args.token_table, args.position_table, args.out}))
      embedding::launch_forward<T, kVec<T>>(problem, device, queue);
    else
      embedding::launch_forward<T, 1>(problem, device, queue);
  });
}

void embedding_backward(const EmbeddingBackwardArgs& args, const Device& device, Queue& queue) {
  if (args.dout.num_elements() == 0) return;
  by_type(args.dout.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const embedding::Backward<T> problem = embedding::sort_tokens<T>(args, device, queue);
    if (problem.width % kVec<T> == 0 && is_aligned({args.dout, args.dtoken_table}))
      embedding::launch_tiles<T, kVec<T>>(problem, queue);
    else
      embedding::launch_tiles<T, 1>(problem, queue);
    if (!args.dposition_table) return;
    const std::int64_t plane = args.dout.shape()[1] * problem.width;
    if (plane % kVec<T> == 0 && is_aligned({args.dout, args.dposition_table}))
      embedding::launch_positions<T, kVec<T>>(args, device, queue);
    else
      embedding::launch_positions<T, 1>(args, device, queue);
  });
}

}  // namespace twill::cuda
