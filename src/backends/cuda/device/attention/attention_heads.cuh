// SPDX-License-Identifier: Apache-2.0
// What the kernels of attention know of their operands, and where a block stands in them.
#pragma once

#include <cstdint>

#include "backends/cuda/device/attention/attention_pairs.cuh"
#include "backends/cuda/device/attention/attention_tile.cuh"

namespace twill::cuda {

// Keys of a tile; backward, also queries. Four tiles of rows and one of scores are 87, 153 and
// 138 KB at D = 64, 128 and 256: sm_80 has 163.
template <int kD>
inline constexpr int kTileKeys = kD > 128 ? 32 : 64;

template <int kRows, int kCols>
inline constexpr int kTileFloats = kRows* kPitch<kCols>;

// Heads of all tokens in a buffer: those of a token side by side, tokens `stride` elements apart.
template <class T>
struct StridedHeads {
  T* data;
  std::int64_t stride;

  // Token t of sequence b, which has `tokens` of them in memory; head h of D elements.
  __device__ T* at(int b, int tokens, int t, int h, int D) const {
    return data + (std::int64_t{b} * tokens + t) * stride + std::int64_t{h} * D;
  }
};

template <class T>
struct AttentionHeads {
  StridedHeads<const T> q, k, v;
  StridedHeads<T> dq, dk, dv;  // backward
  const T* out;                // backward
  const T* dout;               // backward
  T* result;                   // forward: out
  float* lse_result;           // forward
  const float* lse;            // backward
  float* delta;                // backward
  const int* key_lengths;      // nullptr: all
  const int* query_lengths;    // nullptr: all
  int B, queries, keys, H, K, D;
  float scale;
  PairRule rule;
  bool aligned;

  // What exists of sequence b.
  __device__ int queries_of(int b) const {
    return query_lengths == nullptr ? queries : max(0, min(queries, query_lengths[b]));
  }
  __device__ int keys_of(int b) const {
    return key_lengths == nullptr ? keys : max(0, min(keys, key_lengths[b]));
  }
  __device__ std::int64_t out_stride() const { return std::int64_t{H} * D; }
  __device__ std::int64_t out_at(int b, int t, int h) const {
    return (std::int64_t{b} * queries + t) * out_stride() + std::int64_t{h} * D;
  }
  __device__ std::int64_t row_at(int b, int h, int t) const {
    return (std::int64_t{b} * H + h) * queries + t;
  }
  __device__ int key_head(int h) const { return h / (H / K); }
};

// Rows of zeros for what does not exist: 0 x NaN would not do.
template <int kR, int kN>
__device__ __forceinline__ void clear_from(int first_row, float (&sums)[kR][kN]) {
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    if (tile_y() * kR + r < first_row) continue;
#pragma unroll
    for (int d = 0; d < kN; ++d) sums[r][d] = 0.0f;
  }
}

// Codes of the thread's rows of a tile that begins with token `first`.
template <int kR>
__device__ __forceinline__ void row_codes(const PairRule& rule, int first, bool are_keys,
                                          int (&codes)[kR]) {
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const int at = first + tile_y() * kR + r;
    codes[r] = are_keys ? key_code(rule, at) : query_code(rule, at);
  }
}

// Where a block of the backward pass stands: one tile of one head, heavy tiles first.
template <int kTile>
struct TilePlace {
  int b, h, first, rows;

  __device__ TilePlace(int num_tokens, int B, int num_heads, bool late_first) {
    const int tiles = (num_tokens + kTile - 1) / kTile, all_heads = B * num_heads;
    const int tile = static_cast<int>(blockIdx.x) / all_heads;
    b = static_cast<int>(blockIdx.x) % all_heads / num_heads;
    h = static_cast<int>(blockIdx.x) % num_heads;
    first = (late_first ? tiles - 1 - tile : tile) * kTile;
    rows = min(kTile, num_tokens - first);
  }
};

}  // namespace twill::cuda
