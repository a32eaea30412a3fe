// SPDX-License-Identifier: Apache-2.0
// The backward pass of attention: delta per query, dq by tiles of queries, dk and dv by tiles of
// keys. Scores are kept f32 and are made twice, so that every block owns what it writes.
#pragma once

#include "backends/cuda/device/attention/attention_heads.cuh"

namespace twill::cuda {

// delta[b, h, t] = dout·out: 8 threads per row, 16 bytes of each at a time; 2 D reads per row.
constexpr int kRowThreads = 8;

template <class T>
__global__ __launch_bounds__(kTileThreads) void delta_kernel(const AttentionHeads<T> heads) {
  constexpr int N = kVec<T>, kPerBlock = kTileThreads / kRowThreads;
  const int lane = static_cast<int>(threadIdx.x) % kRowThreads;
  const std::int64_t rows = std::int64_t{heads.B} * heads.queries * heads.H;
  const std::int64_t step = std::int64_t{gridDim.x} * kPerBlock;
  // All threads of a warp stay to the end: they exchange sums.
  for (std::int64_t first = std::int64_t{blockIdx.x} * kPerBlock; first < rows; first += step) {
    const std::int64_t row = first + threadIdx.x / kRowThreads;  // (b, t, h)
    float sum = 0.0f;
    for (int d = lane * N; row < rows && d < heads.D; d += kRowThreads * N) {
      float x[N] = {}, y[N] = {};
      if (heads.aligned) {
        load<N>(heads.out + row * heads.D + d, x);
        load<N>(heads.dout + row * heads.D + d, y);
      } else {
        for (int i = 0; i < N && d + i < heads.D; ++i) {
          x[i] = to_f32(heads.out[row * heads.D + d + i]);
          y[i] = to_f32(heads.dout[row * heads.D + d + i]);
        }
      }
#pragma unroll
      for (int i = 0; i < N; ++i) sum = __fmaf_rn(x[i], y[i], sum);
    }
#pragma unroll
    for (int other = kRowThreads / 2; other > 0; other /= 2)
      sum += __shfl_xor_sync(0xffff'ffffu, sum, other);
    if (lane != 0 || row >= rows) continue;
    const std::int64_t token = row / heads.H;
    heads.delta[heads.row_at(static_cast<int>(token / heads.queries),
                             static_cast<int>(row % heads.H),
                             static_cast<int>(token % heads.queries))] = sum;
  }
}

// p = exp(score - lse) of a visible pair, and ds = p (dp - delta).
__device__ __forceinline__ float2 pair_gradient(float scale, float product, float dp, float lse,
                                                float delta) {
  const float p = expf(__fmul_rn(scale, product) - lse);
  return make_float2(p, p * (dp - delta));
}

template <class T, int kD>
__global__ __launch_bounds__(kTileThreads,
                             kD > 64 ? 1 : 2) void dq_kernel(const AttentionHeads<T> heads) {
  constexpr int kTile = kTileKeys<kD>, kR = kTile / kSide;
  extern __shared__ float4 shared[];
  float* q_tile = reinterpret_cast<float*>(shared);
  float* dout_tile = q_tile + kTileFloats<kTile, kD>;
  float* k_tile = dout_tile + kTileFloats<kTile, kD>;
  float* v_tile = k_tile + kTileFloats<kTile, kD>;
  float* weights = v_tile + kTileFloats<kTile, kD>;

  const TilePlace<kTile> at(heads.queries, heads.B, heads.H, true);
  const int q = at.first, kv = heads.key_head(at.h), all_keys = heads.keys_of(at.b);
  const int rows = min(at.rows, heads.queries_of(at.b) - q), last = q + rows - 1;
  load_tile<kTile, kD>(q_tile, heads.q.at(at.b, heads.queries, q, at.h, heads.D), heads.q.stride,
                       rows, heads.D, heads.aligned);
  load_tile<kTile, kD>(dout_tile, heads.dout + heads.out_at(at.b, q, at.h), heads.out_stride(),
                       rows, heads.D, heads.aligned);

  float lse[kR], delta[kR], factors[kR], dq[kR][kD / kSide];
  int codes[kR];
  row_codes(heads.rule, q, false, codes);
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const int row = tile_y() * kR + r;
    lse[r] = row < rows ? heads.lse[heads.row_at(at.b, at.h, q + row)] : 0.0f;
    delta[r] = row < rows ? heads.delta[heads.row_at(at.b, at.h, q + row)] : 0.0f;
    factors[r] = heads.scale;
#pragma unroll
    for (int d = 0; d < kD / kSide; ++d) dq[r][d] = 0.0f;
  }

  const int end = rows > 0 ? min(all_keys, last + 1 + heads.rule.ahead) : 0;
  for (int k = 0; k < end; k += kTile) {
    const int keys = min(kTile, all_keys - k);
    if (!is_any_visible(heads.rule, q, last, k, k + keys - 1)) continue;
    __syncthreads();  // the tiles before are read
    load_tile<kTile, kD>(k_tile, heads.k.at(at.b, heads.keys, k, kv, heads.D), heads.k.stride, keys,
                         heads.D, heads.aligned);
    load_tile<kTile, kD>(v_tile, heads.v.at(at.b, heads.keys, k, kv, heads.D), heads.v.stride, keys,
                         heads.D, heads.aligned);
    __syncthreads();
    float products[kR][kR], dp[kR][kR];
    multiply_rows<kD>(q_tile, k_tile, heads.D, products);
    multiply_rows<kD>(dout_tile, v_tile, heads.D, dp);
#pragma unroll
    for (int c = 0; c < kR; ++c) {
      const int column = tile_x() + kSide * c, j = column < keys ? k + column : kMissing;
      const int key = key_code(heads.rule, j);
#pragma unroll
      for (int r = 0; r < kR; ++r) {
        const int row = tile_y() * kR + r;
        const bool visible = is_pair_visible(heads.rule, q + row, j, codes[r], key);
        const float2 pair = pair_gradient(heads.scale, products[r][c], dp[r][c], lse[r], delta[r]);
        weights[row * kPitch<kTile> + column] = visible ? pair.y : 0.0f;
      }
    }
    __syncwarp();
    add_mix<kTile, kD>(weights, k_tile, dq);
  }
  clear_from(rows, dq);
  store_rows<kD>(heads.dq.at(at.b, heads.queries, q, at.h, heads.D), heads.dq.stride, at.rows,
                 heads.D, heads.aligned, factors, dq);
}

template <class T, int kD>
__global__ __launch_bounds__(kTileThreads,
                             kD > 64 ? 1 : 2) void dkv_kernel(const AttentionHeads<T> heads) {
  constexpr int kTile = kTileKeys<kD>, kR = kTile / kSide;
  extern __shared__ float4 shared[];
  float* k_tile = reinterpret_cast<float*>(shared);
  float* v_tile = k_tile + kTileFloats<kTile, kD>;
  float* q_tile = v_tile + kTileFloats<kTile, kD>;
  float* dout_tile = q_tile + kTileFloats<kTile, kD>;
  float* weights = dout_tile + kTileFloats<kTile, kD>;  // (keys, queries): p, then ds

  const TilePlace<kTile> at(heads.keys, heads.B, heads.K, false);
  const int k = at.first, kv = at.h, group = heads.H / heads.K;
  const int rows = min(at.rows, heads.keys_of(at.b) - k);
  load_tile<kTile, kD>(k_tile, heads.k.at(at.b, heads.keys, k, kv, heads.D), heads.k.stride, rows,
                       heads.D, heads.aligned);
  load_tile<kTile, kD>(v_tile, heads.v.at(at.b, heads.keys, k, kv, heads.D), heads.v.stride, rows,
                       heads.D, heads.aligned);

  float dk[kR][kD / kSide], dv[kR][kD / kSide], scales[kR], ones[kR];
  int codes[kR];
  row_codes(heads.rule, k, true, codes);
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    scales[r] = heads.scale;
    ones[r] = 1.0f;
#pragma unroll
    for (int d = 0; d < kD / kSide; ++d) dk[r][d] = dv[r][d] = 0.0f;
  }

  const int end = rows > 0 ? heads.queries_of(at.b) : 0;
  const int begin = max(0, k - heads.rule.ahead) / kTile * kTile;
  for (int h = at.h * group; h < (at.h + 1) * group; ++h)
    for (int q = begin; q < end; q += kTile) {
      const int queries = min(kTile, end - q);
      if (!is_any_visible(heads.rule, q, q + queries - 1, k, k + rows - 1)) continue;
      __syncthreads();  // the tiles before are read
      load_tile<kTile, kD>(q_tile, heads.q.at(at.b, heads.queries, q, h, heads.D), heads.q.stride,
                           queries, heads.D, heads.aligned);
      load_tile<kTile, kD>(dout_tile, heads.dout + heads.out_at(at.b, q, h), heads.out_stride(),
                           queries, heads.D, heads.aligned);
      __syncthreads();
      float products[kR][kR], dp[kR][kR];
      multiply_rows<kD>(k_tile, q_tile, heads.D, products);
      multiply_rows<kD>(v_tile, dout_tile, heads.D, dp);
#pragma unroll
      for (int c = 0; c < kR; ++c) {
        const int column = tile_x() + kSide * c, i = q + column;
        const bool exists = column < queries;
        const float lse = exists ? heads.lse[heads.row_at(at.b, h, i)] : 0.0f;
        const float delta = exists ? heads.delta[heads.row_at(at.b, h, i)] : 0.0f;
        const int query = query_code(heads.rule, i);
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          const int row = tile_y() * kR + r, j = row < rows ? k + row : kMissing;
          const bool visible = exists && is_pair_visible(heads.rule, i, j, query, codes[r]);
          const float2 pair = pair_gradient(heads.scale, products[r][c], dp[r][c], lse, delta);
          weights[row * kPitch<kTile> + column] = visible ? pair.x : 0.0f;
          dp[r][c] = visible ? pair.y : 0.0f;
        }
      }
      __syncwarp();
      add_mix<kTile, kD>(weights, dout_tile, dv);
      __syncwarp();
#pragma unroll
      for (int r = 0; r < kR; ++r)
#pragma unroll
        for (int c = 0; c < kR; ++c)
          weights[(tile_y() * kR + r) * kPitch<kTile> + tile_x() + kSide * c] = dp[r][c];
      __syncwarp();
      add_mix<kTile, kD>(weights, q_tile, dk);
    }
  clear_from(rows, dk);
  clear_from(rows, dv);
  store_rows<kD>(heads.dk.at(at.b, heads.keys, k, kv, heads.D), heads.dk.stride, at.rows, heads.D,
                 heads.aligned, scales, dk);
  store_rows<kD>(heads.dv.at(at.b, heads.keys, k, kv, heads.D), heads.dv.stride, at.rows, heads.D,
                 heads.aligned, ones, dv);
}

}  // namespace twill::cuda
