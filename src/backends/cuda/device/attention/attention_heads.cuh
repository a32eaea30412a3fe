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

template <class T>
struct AttentionHeads {
  const T* qkv;
  const T* out;       // backward
  const T* dout;      // backward
  T* result;          // out, or dqkv
  float* lse_result;  // forward
  const float* lse;   // backward
  float* delta;       // backward
  int B, tokens, H, K, D;
  float scale;
  PairRule rule;
  bool aligned;

  __device__ std::int64_t packed_stride() const { return std::int64_t{H + 2 * K} * D; }
  __device__ std::int64_t out_stride() const { return std::int64_t{H} * D; }
  // Token t of head h among all H + 2 K.
  __device__ std::int64_t packed(int b, int t, int h) const {
    return (std::int64_t{b} * tokens + t) * packed_stride() + std::int64_t{h} * D;
  }
  __device__ std::int64_t out_at(int b, int t, int h) const {
    return (std::int64_t{b} * tokens + t) * out_stride() + std::int64_t{h} * D;
  }
  __device__ std::int64_t row_at(int b, int h, int t) const {
    return (std::int64_t{b} * H + h) * tokens + t;
  }
  __device__ int key_head(int h) const { return H + h / (H / K); }
};

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
