// SPDX-License-Identifier: Apache-2.0
// Attention over a cache on CUDA: the new keys and values are copied in, then a block takes 128
// cached tokens for one query head of one new token and leaves its maximum, its sum of exponentials
// and its weighted sum of values; a last kernel joins these pieces. Where a piece begins depends on
// the token's place in the cache alone, so any division of tokens among calls gives the same bits.
//
// Bound by reads: each head of a token reads 2 D elements per cached token once (heads of a group
// meet in L2) in rows of 8 threads x 16 bytes, 8 rows of a thread in flight. Writing a text, one
// new token over 1024: 8 pieces x 25 heads are 200 blocks for 132 multiprocessors. Pieces are f32,
// (D + 2) / 256 D of what was read as bf16.
#include "ops/attention/cached_attention.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kPiece = kThreads;                  // cached tokens of a block: one score per thread
constexpr int kRowThreads = 8;                    // that share a row of the cache
constexpr int kRows = kThreads / kRowThreads;     // read side by side
constexpr int kRowsPerThread = kPiece / kRows;    // 8 loads in flight
constexpr std::int64_t kScratchBytes = 64 << 20;  // pieces held at once; longer inputs take turns
constexpr int kCopyThreads = 256;

// Keys and values of token n lie behind each other in qkv: (2, size) elements from `queries` on.
template <class Unit>
__global__ __launch_bounds__(kCopyThreads) void store_kernel(
    const Unit* __restrict__ qkv, Unit* __restrict__ keys, Unit* __restrict__ values,
    std::int64_t tokens, std::int64_t queries, std::int64_t size) {
  const std::int64_t step = std::int64_t{gridDim.x} * kCopyThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kCopyThreads + threadIdx.x;
       i < tokens * 2 * size; i += step) {
    const std::int64_t n = i / (2 * size), at = i % (2 * size);
    const Unit x = qkv[n * (queries + 2 * size) + queries + at];
    if (at < size) {
      keys[n * size + at] = x;
    } else {
      values[n * size + at - size] = x;
    }
  }
}

template <class T>
struct Cached {
  const T* qkv;       // of the first token of this turn
  const T* keys;      // row 0
  const T* values;    // row 0
  T* out;             // of the first token of this turn
  float* sums;        // (tokens, H, pieces, D)
  float2* weights;    // (tokens, H, pieces): maximum and sum
  std::int64_t past;  // before the first token of this turn
  int H, K, D, pieces;
  float scale;
};

// N elements of a row from d on; kAligned: all of them exist and 16-byte accesses fit.
template <bool kAligned, int N, class T>
__device__ __forceinline__ void load_row(const T* row, int d, int D, float (&x)[N]) {
  if constexpr (kAligned) {
    load<N>(row + d, x);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = d + i < D ? to_f32(row[d + i]) : 0.0f;
  }
}

// The same order of sums with and without 16-byte accesses.
template <class T, bool kAligned>
__global__ __launch_bounds__(kThreads) void piece_kernel(const Cached<T> cache) {
  constexpr int N = kVec<T>, kWidth = kRowThreads * N;
  __shared__ float scores[kPiece];
  __shared__ float partial[kRows][kWidth];
  const int thread = static_cast<int>(threadIdx.x), D = cache.D;
  const int lane = thread % kRowThreads, group = thread / kRowThreads;
  const int piece = static_cast<int>(blockIdx.x) % cache.pieces;
  const std::int64_t head = blockIdx.x / cache.pieces;  // (token, h)
  const std::int64_t n = head / cache.H;
  const int h = static_cast<int>(head % cache.H), kv = h / (cache.H / cache.K);
  const std::int64_t begin = std::int64_t{piece} * kPiece;
  const std::int64_t left = cache.past + n + 1 - begin;
  if (left <= 0) return;  // the whole block: this token sees fewer pieces than the last one
  const int count = static_cast<int>(left < kPiece ? left : kPiece);

  const std::int64_t stride = std::int64_t{cache.K} * D;
  const std::int64_t first = (begin * cache.K + kv) * D;
  const T* q = cache.qkv + (n * (cache.H + 2 * cache.K) + h) * D;

  float products[kRowsPerThread] = {};
  for (int d = lane * N; d < D; d += kWidth) {
    float x[N];
    load_row<kAligned>(q, d, D, x);
#pragma unroll
    for (int u = 0; u < kRowsPerThread; ++u) {
      const int j = group + kRows * u;
      float y[N] = {};
      if (j < count) load_row<kAligned>(cache.keys + first + j * stride, d, D, y);
#pragma unroll
      for (int i = 0; i < N; ++i) products[u] = __fmaf_rn(x[i], y[i], products[u]);
    }
  }
#pragma unroll
  for (int u = 0; u < kRowsPerThread; ++u) {
#pragma unroll
    for (int other = kRowThreads / 2; other > 0; other /= 2)
      products[u] += __shfl_xor_sync(0xffff'ffffu, products[u], other);
    if (lane == 0) scores[group + kRows * u] = __fmul_rn(cache.scale, products[u]);
  }
  __syncthreads();

  const float score = thread < count ? scores[thread] : -INFINITY;
  const float largest = block_max<kThreads>(score);
  // Scores of -inf alone leave a sum of 0, which the last kernel turns into NaN if nothing else is.
  const float base = largest == -INFINITY ? 0.0f : largest;
  const float weight = expf(score - base);
  const float sum = block_sum<kThreads>(weight);
  scores[thread] = weight;
  const std::int64_t task = head * cache.pieces + piece;
  if (thread == 0) cache.weights[task] = make_float2(largest, sum);

  for (int from = 0; from < D; from += kWidth) {
    __syncthreads();  // weights are there, and the sums before are read
    const int d = from + lane * N;
    float sums[N] = {};
#pragma unroll
    for (int u = 0; u < kRowsPerThread; ++u) {
      const int j = group + kRows * u;
      float y[N] = {};
      if (j < count && d < D) load_row<kAligned>(cache.values + first + j * stride, d, D, y);
#pragma unroll
      for (int i = 0; i < N; ++i) sums[i] = __fmaf_rn(scores[j], y[i], sums[i]);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) partial[group][lane * N + i] = sums[i];
    __syncthreads();
    if (thread >= kWidth || from + thread >= D) continue;
    float total = 0.0f;
#pragma unroll
    for (int row = 0; row < kRows; ++row) total += partial[row][thread];
    cache.sums[task * D + from + thread] = total;
  }
}

// A NaN stays one however small its piece weighs: 0 NaN is NaN.
template <class T>
__global__ __launch_bounds__(kThreads) void join_kernel(const Cached<T> cache) {
  const std::int64_t head = blockIdx.x, n = head / cache.H;
  const int pieces = static_cast<int>((cache.past + n) / kPiece) + 1;
  const float2* weights = cache.weights + head * cache.pieces;
  const float* sums = cache.sums + head * cache.pieces * cache.D;
  float largest = -INFINITY;
  for (int i = 0; i < pieces; ++i) largest = fmaxf(largest, weights[i].x);
  const float base = largest == -INFINITY ? 0.0f : largest;
  for (int d = static_cast<int>(threadIdx.x); d < cache.D; d += kThreads) {
    float total = 0.0f, value = 0.0f;
    for (int i = 0; i < pieces; ++i) {
      const float factor = expf(weights[i].x - base);
      total = __fmaf_rn(factor, weights[i].y, total);
      value = __fmaf_rn(factor, sums[std::int64_t{i} * cache.D + d], value);
    }
    cache.out[head * cache.D + d] = from_f32<T>(value / total);
  }
}

template <class Unit>
void store_tokens(const CachedAttentionArgs& args, std::int64_t units, const Device& device,
                  Queue& queue) {
  // In units of `units` elements each.
  const std::int64_t D = args.qkv.shape()[2], size = args.num_kv_heads() * D / units;
  const std::int64_t tokens = args.num_tokens(), queries = args.num_heads() * D / units;
  const unsigned grid = grid_for(ceil_div(tokens * 2 * size, kCopyThreads), 8, device);
  store_kernel<Unit><<<grid, kCopyThreads, 0, stream_of(queue)>>>(
      pointer<Unit>(args.qkv), pointer<Unit>(args.keys) + args.past * size,
      pointer<Unit>(args.values) + args.past * size, tokens, queries, size);
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class T>
void attend(const CachedAttentionArgs& args, bool aligned, Queue& queue) {
  const std::int64_t H = args.num_heads(), K = args.num_kv_heads(), D = args.qkv.shape()[2];
  const std::int64_t tokens = args.num_tokens();
  // Reserved for a full cache, so that a growing text does not grow the scratch.
  const std::int64_t capacity = ceil_div(args.keys.shape()[0], kPiece);
  const std::int64_t piece_bytes = (D + 2) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t turn =
      std::clamp<std::int64_t>(kScratchBytes / (H * capacity * piece_bytes), 1, tokens);
  std::byte* scratch = reduction_scratch(queue, turn * H * capacity * piece_bytes);

  for (std::int64_t n = 0; n < tokens; n += turn) {
    const std::int64_t count = std::min(turn, tokens - n);
    const std::int64_t pieces = ceil_div(args.past + n + count, kPiece);
    Cached<T> cache{};
    cache.qkv = pointer<T>(args.qkv) + n * (H + 2 * K) * D;
    cache.keys = pointer<T>(args.keys);
    cache.values = pointer<T>(args.values);
    cache.out = pointer<T>(args.out) + n * H * D;
    cache.weights = reinterpret_cast<float2*>(scratch);
    cache.sums = reinterpret_cast<float*>(cache.weights + count * H * pieces);
    cache.past = args.past + n;
    cache.H = static_cast<int>(H);
    cache.K = static_cast<int>(K);
    cache.D = static_cast<int>(D);
    cache.pieces = static_cast<int>(pieces);
    cache.scale = static_cast<float>(args.scale);
    const auto blocks = static_cast<unsigned>(count * H * pieces);
    if (aligned) {
      piece_kernel<T, true><<<blocks, kThreads, 0, stream_of(queue)>>>(cache);
    } else {
      piece_kernel<T, false><<<blocks, kThreads, 0, stream_of(queue)>>>(cache);
    }
    TWILL_CUDA_CHECK_LAUNCH();
    join_kernel<T><<<static_cast<unsigned>(count * H), kThreads, 0, stream_of(queue)>>>(cache);
    TWILL_CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void cached_attention(const CachedAttentionArgs& args, const Device& device, Queue& queue) {
  if (args.qkv.num_elements() == 0) return;
  by_type(args.qkv.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const bool aligned =
        is_aligned({args.qkv, args.keys, args.values}) && args.qkv.shape()[2] % kVec<T> == 0;
    if (aligned) {
      store_tokens<uint4>(args, kVec<T>, device, queue);
    } else {
      store_tokens<T>(args, 1, device, queue);
    }
    if (args.out) attend<T>(args, aligned, queue);
  });
}

}  // namespace twill::cuda
