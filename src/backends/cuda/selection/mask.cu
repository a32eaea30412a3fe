// SPDX-License-Identifier: Apache-2.0
// The ops of masks on CUDA. All are bound by memory; none depends on the grid for its bits.
//
//   apply_mask       9 B per element of f32, 7 B to bf16, 5 B of bf16. A thread takes the elements
//                    of a 16-byte store, two such packs in flight.
//   mask_difference  2 B per element: 16 bytes of either mask, four in flight; a count per block,
//                    then their sum.
//   mask_mass        5 B per element, in the runs of the contract (device/run_sums.cuh).
//   count_nonzero    reads x once: a block takes a tile of columns (32 lanes, 16 bytes each) over a
//                    chunk of rows, eight rows in flight per thread, and adds its counts with
//                    integer atomics, whose order is free.
#include "ops/selection/mask.h"

#include <algorithm>

#include "backends/cuda/device/pieces.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/numbers/run_sums.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 6;  // at most 40 registers a thread; all blocks are resident

template <class X, class Y>
struct Masking {
  const X* x;
  Y* y;  // may be x
  const std::uint8_t* mask;
  const std::uint8_t* keep_columns;  // or nullptr
  std::int64_t cols;
};

// kPacks packs of V elements, `stride` elements apart; all loads stand before the first store. Bits
// of the same type pass as they are, those of a NaN too.
template <int kPacks, int V, bool kWhole, class X, class Y>
__device__ __forceinline__ void mask_packs(const Masking<X, Y>& a, std::int64_t i,
                                           std::int64_t stride) {
  unsigned bits[kPacks][V];
  bool keep[kPacks][V];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    read_bits<kWhole>(a.x + i + p * stride, bits[p]);
    read_flags<kWhole>(a.mask + i + p * stride, keep[p]);
  }
  if (a.keep_columns != nullptr) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      bool column[V];
      read_flags<kWhole>(a.keep_columns + divide(i + p * stride, a.cols).rest, column);
#pragma unroll
      for (int k = 0; k < V; ++k) keep[p][k] = keep[p][k] || column[k];
    }
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int k = 0; k < V; ++k) bits[p][k] = keep[p][k] ? bits[p][k] : 0u;
    if constexpr (sizeof(X) == sizeof(Y)) {
      write_bits<kWhole>(a.y + i + p * stride, bits[p]);
    } else {
      float values[V];
#pragma unroll
      for (int k = 0; k < V; ++k) values[k] = value_of<X>(bits[p][k]);
      write_values<kWhole>(a.y + i + p * stride, values);
    }
  }
}

// Elements first … n - 1, n - first a multiple of V.
template <int V, bool kWhole, class X, class Y>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void apply_mask_kernel(Masking<X, Y> a,
                                                                            std::int64_t first,
                                                                            std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * (kThreads * V);
  std::int64_t i = first + (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * V;
  for (; i + stride < n; i += 2 * stride) mask_packs<2, V, kWhole>(a, i, stride);
  if (i < n) mask_packs<1, V, kWhole>(a, i, stride);
}

template <int V, bool kWhole, class X, class Y>
void launch_range(const Masking<X, Y>& masking, std::int64_t first, std::int64_t n,
                  const Device& device, Queue& queue) {
  if (first == n) return;
  const unsigned blocks = grid_for(ceil_div(n - first, kThreads * V), kBlocksPerSm, device);
  apply_mask_kernel<V, kWhole><<<blocks, kThreads, 0, stream_of(queue)>>>(masking, first, n);
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class X, class Y>
void launch_apply(const ApplyMaskArgs& args, const Device& device, Queue& queue) {
  constexpr int V = kVec<Y>;
  const Masking<X, Y> masking{.x = pointer<X>(args.x),
                              .y = pointer<Y>(args.y),
                              .mask = pointer<std::uint8_t>(args.mask),
                              .keep_columns = pointer<std::uint8_t>(args.keep_columns),
                              .cols = args.x.cols()};
  const std::int64_t n = args.x.num_elements();
  // With columns a pack must not go over the end of a row.
  const bool fits = is_aligned({args.x, args.y, args.mask, args.keep_columns}) &&
                    (!args.keep_columns || args.x.cols() % V == 0);
  const std::int64_t whole = fits ? n / V * V : 0;
  launch_range<V, true>(masking, 0, whole, device, queue);
  launch_range<1, false>(masking, whole, n, device, queue);
}

__device__ __forceinline__ int different_bytes(unsigned a, unsigned b) {
  const unsigned x = a ^ b;  // the highest bit of a byte becomes whether any of it is set
  return __popc((((x & 0x7f7f'7f7fu) + 0x7f7f'7f7fu) | x) & 0x8080'8080u);
}

// counts[block] = where a and b differ in the block's part: packs of 16 bytes and what is left.
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void difference_kernel(
    const std::uint8_t* __restrict__ a, const std::uint8_t* __restrict__ b, std::int64_t n,
    std::int64_t whole, unsigned long long* __restrict__ counts) {
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t thread = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  unsigned long long count = 0;
#pragma unroll 4
  for (std::int64_t i = thread * 16; i < whole; i += threads * 16) {
    const uint4 x = *reinterpret_cast<const uint4*>(a + i);
    const uint4 y = *reinterpret_cast<const uint4*>(b + i);
    count += static_cast<unsigned>(different_bytes(x.x, y.x) + different_bytes(x.y, y.y) +
                                   different_bytes(x.z, y.z) + different_bytes(x.w, y.w));
  }
#pragma unroll 4
  for (std::int64_t i = whole + thread; i < n; i += threads) count += a[i] != b[i] ? 1u : 0u;
  count = block_sum<kThreads>(count);
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

__global__ __launch_bounds__(kThreads) void add_counts_kernel(
    const unsigned long long* __restrict__ counts, unsigned num_counts, double* sum) {
  unsigned long long count = 0;
  for (unsigned i = threadIdx.x; i < num_counts; i += kThreads) count += counts[i];
  count = block_sum<kThreads>(count);
  if (threadIdx.x == 0) *sum = static_cast<double>(count);
}

// |x|, and whether it is kept in the place of its sign.
struct MassTerms {
  using Item = float;

  const float* x;
  const std::uint8_t* mask;

  __device__ __forceinline__ Item load(std::int64_t i) const {
    return copysignf(x[i], mask[i] != 0 ? -1.0f : 1.0f);
  }

  // The square of an f32 is exact in f64.
  __device__ __forceinline__ void add(Item item, double (&sums)[5]) const {
    const bool kept = signbit(item);
    const double value = static_cast<double>(fabsf(item)), square = __dmul_rn(value, value);
    sums[0] = __dadd_rn(sums[0], value);
    sums[1] = __dadd_rn(sums[1], square);
    sums[2] = __dadd_rn(sums[2], kept ? value : 0.0);
    sums[3] = __dadd_rn(sums[3], kept ? square : 0.0);
    sums[4] = __dadd_rn(sums[4], kept ? 1.0 : 0.0);
  }
};

constexpr int kWarps = kThreads / kWarp;
constexpr int kRowsInFlight = 8;
constexpr int kCountBlocksPerSm = 4;  // at most 64 registers a thread: 32 for loads in flight

// counts[column] += the rows of the block's chunk in which x is not zero; a NaN is not.
template <class T, int V>
__global__ __launch_bounds__(kThreads, kCountBlocksPerSm) void count_kernel(
    const T* __restrict__ x, std::int64_t rows, std::int64_t cols, std::int64_t chunk_rows,
    int* __restrict__ counts) {
  __shared__ int of_warps[kWarps][kWarp * V];
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t tile = std::int64_t{blockIdx.x} * (kWarp * V), column = tile + lane * V;
  const std::int64_t end = min((blockIdx.y + 1) * chunk_rows, rows);
  int count[V] = {};
  if (column < cols) {
    for (std::int64_t row = blockIdx.y * chunk_rows + warp; row < end;
         row += kWarps * kRowsInFlight) {
      Pack<T, V> held[kRowsInFlight] = {};  // a row behind the end counts nothing
#pragma unroll
      for (int r = 0; r < kRowsInFlight; ++r)
        if (row + r * kWarps < end)
          held[r] = *reinterpret_cast<const Pack<T, V>*>(x + (row + r * kWarps) * cols + column);
#pragma unroll
      for (int r = 0; r < kRowsInFlight; ++r)
#pragma unroll
        for (int k = 0; k < V; ++k) count[k] += to_f32(held[r].at[k]) != 0.0f ? 1 : 0;
    }
  }
#pragma unroll
  for (int k = 0; k < V; ++k) of_warps[warp][lane * V + k] = count[k];
  __syncthreads();

  const int c = static_cast<int>(threadIdx.x);
  if (c >= kWarp * V || tile + c >= cols) return;
  int total = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) total += of_warps[w][c];
  if (total != 0) atomicAdd(counts + tile + c, total);
}

template <class T, int V>
void launch_count(const CountNonzeroArgs& args, const Device& device, Queue& queue) {
  static_assert(kWarp * V <= kThreads, "a thread per column of the tile adds its count");
  const std::int64_t rows = args.x.rows(), cols = args.x.cols();
  const std::int64_t tiles = ceil_div(cols, kWarp * V);
  const std::int64_t resident = std::int64_t{std::max(device.num_sms, 1)} * kCountBlocksPerSm;
  const std::int64_t wanted =
      std::clamp<std::int64_t>(resident / tiles, 1, ceil_div(rows, kWarps * kRowsInFlight));
  const std::int64_t chunk_rows = ceil_div(rows, std::min<std::int64_t>(wanted, 65'535));
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(ceil_div(rows, chunk_rows)));
  count_kernel<T, V><<<grid, kThreads, 0, stream_of(queue)>>>(
      pointer<T>(args.x), rows, cols, chunk_rows, pointer<int>(args.counts));
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void apply_mask(const ApplyMaskArgs& args, const Device& device, Queue& queue) {
  if (args.x.num_elements() == 0) return;
  by_type(args.x.dtype(), [&]<class X>(TypeOf<X>) {
    if (args.x.dtype() == args.y.dtype()) return launch_apply<X, X>(args, device, queue);
    launch_apply<X, __nv_bfloat16>(args, device, queue);
  });
}

void mask_difference(const MaskDifferenceArgs& args, const Device& device, Queue& queue) {
  const std::int64_t n = args.a.num_elements();
  const std::int64_t whole = is_aligned({args.a, args.b}) ? n / 16 * 16 : 0;
  const unsigned blocks = grid_for(ceil_div(n, kThreads * 64), kBlocksPerSm, device);
  auto* counts = reinterpret_cast<unsigned long long*>(
      reduction_scratch(queue, blocks * std::int64_t{sizeof(unsigned long long)}));
  difference_kernel<<<blocks, kThreads, 0, stream_of(queue)>>>(
      pointer<std::uint8_t>(args.a), pointer<std::uint8_t>(args.b), n, whole, counts);
  TWILL_CUDA_CHECK_LAUNCH();
  add_counts_kernel<<<1, kThreads, 0, stream_of(queue)>>>(counts, blocks,
                                                          pointer<double>(args.count));
  TWILL_CUDA_CHECK_LAUNCH();
}

void mask_mass(const MaskMassArgs& args, const Device&, Queue& queue) {
  const MassTerms terms{.x = pointer<float>(args.x), .mask = pointer<std::uint8_t>(args.mask)};
  sum_in_runs<5>(terms, args.x.num_elements(), args.sums, queue);
}

void count_nonzero(const CountNonzeroArgs& args, const Device& device, Queue& queue) {
  if (args.x.cols() == 0) return;
  TWILL_CUDA_CHECK(cudaMemsetAsync(
      args.counts.bytes(), 0, static_cast<std::size_t>(args.counts.num_bytes()), stream_of(queue)));
  if (args.x.rows() == 0) return;
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) {
    if (is_aligned({args.x}) && args.x.cols() % kVec<T> == 0)
      return launch_count<T, kVec<T>>(args, device, queue);
    return launch_count<T, 1>(args, device, queue);
  });
}

}  // namespace twill::cuda
