// SPDX-License-Identifier: Apache-2.0
// Attention on CUDA by our own kernels: where cuDNN is missing or does not take the case.
//
// Forward: a block owns 64 queries of one head and goes over the keys in tiles of 64 (32 above
// D = 128); softmax is kept up to date as tiles arrive, so scores never reach device memory.
// Backward, probabilities computed again from lse: delta = dout·out goes to the workspace, then one
// kernel owns a tile of keys and adds up dk and dv over the group's queries, another owns a tile of
// queries and adds up dq. Nothing is shared between blocks: no atomics, one order of sums.
//
// Bound by FMAs (f32, also for bf16): per pair 2 D forward and 7 D backward. A thread makes a 4 x 4
// piece of a tile from 8 reads of 16 bytes per 64 FMAs. Device memory sees q, out and lse once, k
// and v once per tile of queries, mostly in L2: at T 1024, D 64 a tile of 16 KB meets 0.5 MFLOP.
// Tiles that the pattern hides wholly, or that lie beyond a length, are skipped. p and ds stay f32:
// less error than bf16 gives.
#include "backends/cuda/attention/attention_plain.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/cuda/attention/attention_rule.cuh"
#include "backends/cuda/device/attention/attention_backward.cuh"
#include "backends/cuda/device/attention/attention_heads.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr float kHidden = -INFINITY;

constexpr int kQueries = 64;  // of a tile, forward

// Forward: scores of a tile become probabilities under the row's maximum so far. Sums are of this
// thread's columns only; all threads of a row know its maximum.
template <int kR, int kC>
struct Softmax {
  float maximum[kR], sum[kR];
  int codes[kR];

  // scores -> weights (in shared memory); shrink[r] scales what was summed before.
  __device__ __forceinline__ void add(const PairRule& rule, float scale, int q, int k, int num_keys,
                                      const float (&scores)[kR][kC], float* weights,
                                      float (&shrink)[kR]) {
    int at[kC], keys[kC];
#pragma unroll
    for (int c = 0; c < kC; ++c) {
      const int column = tile_x() + kSide * c;
      at[c] = column < num_keys ? k + column : kMissing;
      keys[c] = key_code(rule, at[c]);
    }
#pragma unroll
    for (int r = 0; r < kR; ++r) {
      const int row = tile_y() * kR + r;
      float s[kC], largest = kHidden;
#pragma unroll
      for (int c = 0; c < kC; ++c) {
        s[c] = is_pair_visible(rule, q + row, at[c], codes[r], keys[c])
                   ? __fmul_rn(scale, scores[r][c])
                   : kHidden;
        largest = fmaxf(largest, s[c]);
      }
      largest = fmaxf(maximum[r], warp_max<kSide>(largest));
      // A row that has seen nothing yet has no maximum: all its weights become exp(-inf) = 0.
      const float base = largest == kHidden ? 0.0f : largest;
      shrink[r] = expf(maximum[r] - base);
      maximum[r] = largest;
      sum[r] *= shrink[r];
#pragma unroll
      for (int c = 0; c < kC; ++c) {
        const float weight = expf(s[c] - base);
        sum[r] += weight;
        weights[row * kPitch<kC * kSide> + tile_x() + kSide * c] = weight;
      }
    }
  }
};

template <class T, int kD>
__global__ __launch_bounds__(kTileThreads,
                             kD > 128 ? 1 : 2) void forward_kernel(const AttentionHeads<T> heads) {
  constexpr int kKeys = kTileKeys<kD>, kR = kQueries / kSide, kC = kKeys / kSide;
  extern __shared__ float4 shared[];
  float* q_tile = reinterpret_cast<float*>(shared);
  float* kv_tile = q_tile + kTileFloats<kQueries, kD>;  // keys, then values
  float* weights = kv_tile + kTileFloats<kKeys, kD>;

  // Late queries see more keys: they come first, so that the end is even.
  const int tiles = (heads.queries + kQueries - 1) / kQueries, all_heads = heads.B * heads.H;
  const int q = (tiles - 1 - static_cast<int>(blockIdx.x) / all_heads) * kQueries;
  const int b = static_cast<int>(blockIdx.x) % all_heads / heads.H;
  const int h = static_cast<int>(blockIdx.x) % heads.H, kv = heads.key_head(h);
  const int all_rows = min(kQueries, heads.queries - q), all_keys = heads.keys_of(b);
  const int rows = min(all_rows, heads.queries_of(b) - q), last = q + rows - 1;

  Softmax<kR, kC> softmax;
  float sums[kR][kD / kSide], shrink[kR];
  row_codes(heads.rule, q, false, softmax.codes);
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    softmax.maximum[r] = kHidden;
    softmax.sum[r] = 0.0f;
#pragma unroll
    for (int d = 0; d < kD / kSide; ++d) sums[r][d] = 0.0f;
  }

  load_tile<kQueries, kD>(q_tile, heads.q.at(b, heads.queries, q, h, heads.D), heads.q.stride, rows,
                          heads.D, heads.aligned);
  const int end = rows > 0 ? min(all_keys, last + 1 + heads.rule.ahead) : 0;
  for (int k = 0; k < end; k += kKeys) {
    const int keys = min(kKeys, all_keys - k);
    if (!is_any_visible(heads.rule, q, last, k, k + keys - 1)) continue;
    __syncthreads();  // the values before are read
    load_tile<kKeys, kD>(kv_tile, heads.k.at(b, heads.keys, k, kv, heads.D), heads.k.stride, keys,
                         heads.D, heads.aligned);
    __syncthreads();
    float scores[kR][kC];
    multiply_rows<kD>(q_tile, kv_tile, heads.D, scores);
    __syncthreads();  // the keys are read
    load_tile<kKeys, kD>(kv_tile, heads.v.at(b, heads.keys, k, kv, heads.D), heads.v.stride, keys,
                         heads.D, heads.aligned);
    softmax.add(heads.rule, heads.scale, q, k, keys, scores, weights, shrink);
#pragma unroll
    for (int r = 0; r < kR; ++r)
#pragma unroll
      for (int d = 0; d < kD / kSide; ++d) sums[r][d] *= shrink[r];
    __syncthreads();
    add_mix<kKeys, kD>(weights, kv_tile, sums);
  }

  float inverse[kR];
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const int row = tile_y() * kR + r;
    const float sum = warp_sum<kSide>(softmax.sum[r]);
    const bool sees = row < rows && sees_any_key(heads.rule, q + row, all_keys);
    inverse[r] = 1.0f / sum;  // a sum of 0, every visible score -inf, makes the row NaN
    float lse = sum == 0.0f ? NAN : softmax.maximum[r] + logf(sum);
    if (!sees) {
      inverse[r] = lse = 0.0f;
#pragma unroll
      for (int d = 0; d < kD / kSide; ++d) sums[r][d] = 0.0f;
    }
    if (tile_x() == 0 && row < all_rows) heads.lse_result[heads.row_at(b, h, q + row)] = lse;
  }
  store_rows<kD>(heads.result + heads.out_at(b, q, h), heads.out_stride(), all_rows, heads.D,
                 heads.aligned, inverse, sums);
}

template <class T, class Byte>
auto strided(const BasicHeadsView<Byte>& heads) {
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  return StridedHeads<Element>{reinterpret_cast<Element*>(heads.bytes()), heads.row_stride()};
}

const int* lengths_or_null(const ConstView& lengths) {
  return lengths ? lengths.as<std::int32_t>() : nullptr;
}

template <class T, class Args>
AttentionHeads<T> heads_of(const Args& args, bool aligned) {
  const AttentionExtents is(args);
  AttentionHeads<T> heads{};
  heads.q = strided<T>(args.q);
  heads.k = strided<T>(args.k);
  heads.v = strided<T>(args.v);
  heads.key_lengths = lengths_or_null(args.key_lengths);
  heads.query_lengths = lengths_or_null(args.query_lengths);
  heads.B = static_cast<int>(is.B);
  heads.queries = static_cast<int>(is.T);
  heads.keys = static_cast<int>(is.S);
  heads.H = static_cast<int>(is.H);
  heads.K = static_cast<int>(is.K);
  heads.D = static_cast<int>(is.D);
  heads.scale = static_cast<float>(args.scale);
  heads.rule = rule_of(args.mask, is);
  heads.aligned = aligned && heads.D % kVec<T> == 0 && has_aligned_rows(args.q) &&
                  has_aligned_rows(args.k) && has_aligned_rows(args.v);
  return heads;
}

// The smallest tile width that holds a head: launch(std::integral_constant<int, kD>()).
template <class Launch>
void by_width(std::int64_t D, const Launch& launch) {
  TWILL_CHECK(D <= 256, "attention on cuda takes heads of up to 256 elements");
  if (D <= 64) return launch(std::integral_constant<int, 64>());
  if (D <= 128) return launch(std::integral_constant<int, 128>());
  return launch(std::integral_constant<int, 256>());
}

// One block per tile of `rows` of `tokens` tokens of every head, with more shared memory than comes by
// default.
template <class T>
void launch_tiles(void (*kernel)(AttentionHeads<T>), const AttentionHeads<T>& heads, int tokens,
                  int num_heads, int rows, int shared_floats, Queue& queue) {
  const std::size_t bytes = static_cast<std::size_t>(shared_floats) * sizeof(float);
  const std::int64_t blocks = ceil_div(tokens, rows) * heads.B * num_heads;
  if (blocks == 0) return;
  TWILL_CHECK(blocks <= std::numeric_limits<int>::max(), "attention: too many tiles for a grid");
  TWILL_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
  kernel<<<static_cast<unsigned>(blocks), kTileThreads, bytes, stream_of(queue)>>>(heads);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

std::int64_t plain_attention_workspace_bytes(const AttentionForwardArgs& args) {
  const AttentionExtents is(args);
  return is.B * is.T * is.H * static_cast<std::int64_t>(sizeof(float));  // delta
}

void plain_attention_forward(const AttentionForwardArgs& args, Queue& queue) {
  if (args.out.num_elements() == 0) return;
  by_type(args.out.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    AttentionHeads<T> heads = heads_of<T>(args, is_aligned({args.out}));
    heads.result = pointer<T>(args.out);
    heads.lse_result = pointer<float>(args.lse);
    by_width(heads.D, [&](auto width) {
      constexpr int kD = decltype(width)::value, kKeys = kTileKeys<kD>;
      launch_tiles<T>(
          forward_kernel<T, kD>, heads, heads.queries, heads.H, kQueries,
          kTileFloats<kQueries, kD> + kTileFloats<kKeys, kD> + kTileFloats<kQueries, kKeys>, queue);
    });
  });
}

void plain_attention_backward(const AttentionBackwardArgs& args, const Device& device,
                              Queue& queue) {
  if (args.q.num_elements() == 0 && args.k.num_elements() == 0) return;
  by_type(args.out.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const bool aligned = is_aligned({args.out, args.dout}) && has_aligned_rows(args.dq) &&
                         has_aligned_rows(args.dk) && has_aligned_rows(args.dv);
    AttentionHeads<T> heads = heads_of<T>(args, aligned);
    heads.out = pointer<T>(args.out);
    heads.dout = pointer<T>(args.dout);
    heads.dq = strided<T>(args.dq);
    heads.dk = strided<T>(args.dk);
    heads.dv = strided<T>(args.dv);
    heads.lse = pointer<float>(args.lse);
    heads.delta = pointer<float>(args.workspace);
    const std::int64_t rows = std::int64_t{heads.B} * heads.queries * heads.H;
    constexpr int kRowsPerBlock = kTileThreads / kRowThreads;
    delta_kernel<<<grid_for(ceil_div(rows, kRowsPerBlock), 8, device), kTileThreads, 0,
                   stream_of(queue)>>>(heads);
    TWILL_CUDA_CHECK_LAUNCH();
    by_width(heads.D, [&](auto width) {
      constexpr int kD = decltype(width)::value, kTile = kTileKeys<kD>;
      constexpr int kFloats = 4 * kTileFloats<kTile, kD> + kTileFloats<kTile, kTile>;
      launch_tiles<T>(dkv_kernel<T, kD>, heads, heads.keys, heads.K, kTile, kFloats, queue);
      launch_tiles<T>(dq_kernel<T, kD>, heads, heads.queries, heads.H, kTile, kFloats, queue);
    });
  });
}

}  // namespace twill::cuda
