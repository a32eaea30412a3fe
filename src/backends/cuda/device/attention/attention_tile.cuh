// SPDX-License-Identifier: Apache-2.0
// Tiles of attention in shared memory, f32, and the two products over them. A block is a square of
// 16 x 16 threads: thread (y, x) owns kR neighbouring rows from kR y on, and of the columns every
// 16th from x on (scores) or 4 of every 64 (rows of a head). Rows of a score tile are written and
// read by the 16 threads of one half warp alone.
#pragma once

#include <cstdint>

#include "backends/cuda/device/vec.cuh"

namespace twill::cuda {

inline constexpr int kSide = 16;
inline constexpr int kTileThreads = kSide * kSide;

// Floats from row to row: 4 more than a multiple of 32, so that 16-byte reads of 8 neighbour rows
// meet 32 different banks.
template <int kCols>
inline constexpr int kPitch = kCols + 4;

__device__ __forceinline__ int tile_x() { return static_cast<int>(threadIdx.x) % kSide; }
__device__ __forceinline__ int tile_y() { return static_cast<int>(threadIdx.x) / kSide; }

__device__ __forceinline__ float4 read4(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

// `rows` rows of D elements, `stride` apart, to a tile of kRows x kD; zeros right of D and below.
// `aligned`: 16-byte accesses fit every row. One branch per tile: not worth a kernel of its own.
template <int kRows, int kD, class T>
__device__ __forceinline__ void load_tile(float* tile, const T* from, std::int64_t stride, int rows,
                                          int D, bool aligned) {
  constexpr int N = kVec<T>, kPerRow = kD / N;
  static_assert(kRows * kPerRow % kTileThreads == 0);
  if (aligned) {
#pragma unroll(16 / N)
    for (int step = 0; step < kRows * kPerRow / kTileThreads; ++step) {
      const int at = step * kTileThreads + static_cast<int>(threadIdx.x);
      const int row = at / kPerRow, d = at % kPerRow * N;
      float x[N] = {};
      if (row < rows && d < D) load<N>(from + row * stride + d, x);
#pragma unroll
      for (int i = 0; i < N; i += 4)
        *reinterpret_cast<float4*>(tile + row * kPitch<kD> + d + i) =
            make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]);
    }
    return;
  }
#pragma unroll 1
  for (int at = static_cast<int>(threadIdx.x); at < kRows * kD; at += kTileThreads) {
    const int row = at / kD, d = at % kD;
    tile[row * kPitch<kD> + d] = row < rows && d < D ? to_f32(from[row * stride + d]) : 0.0f;
  }
}

// products[r][c] = Σ_d a[row r][d] b[row x + 16 c][d]; per 4 d: kR + kC reads, 4 kR kC FMAs.
template <int kD, int kR, int kC>
__device__ __forceinline__ void multiply_rows(const float* a, const float* b, int D,
                                              float (&products)[kR][kC]) {
  const float* a_rows = a + tile_y() * kR * kPitch<kD>;
  const float* b_rows = b + tile_x() * kPitch<kD>;
#pragma unroll
  for (int r = 0; r < kR; ++r)
#pragma unroll
    for (int c = 0; c < kC; ++c) products[r][c] = 0.0f;
#pragma unroll 1
  for (int d = 0; d < D; d += 4) {
    float4 x[kR], y[kC];
#pragma unroll
    for (int r = 0; r < kR; ++r) x[r] = read4(a_rows + r * kPitch<kD> + d);
#pragma unroll
    for (int c = 0; c < kC; ++c) y[c] = read4(b_rows + c * kSide * kPitch<kD> + d);
#pragma unroll
    for (int r = 0; r < kR; ++r)
#pragma unroll
      for (int c = 0; c < kC; ++c) {
        products[r][c] = __fmaf_rn(x[r].x, y[c].x, products[r][c]);
        products[r][c] = __fmaf_rn(x[r].y, y[c].y, products[r][c]);
        products[r][c] = __fmaf_rn(x[r].z, y[c].z, products[r][c]);
        products[r][c] = __fmaf_rn(x[r].w, y[c].w, products[r][c]);
      }
  }
}

__device__ __forceinline__ void add_scaled(float factor, float4 x, float* sums) {
  sums[0] = __fmaf_rn(factor, x.x, sums[0]);
  sums[1] = __fmaf_rn(factor, x.y, sums[1]);
  sums[2] = __fmaf_rn(factor, x.z, sums[2]);
  sums[3] = __fmaf_rn(factor, x.w, sums[3]);
}

// sums[r][4 c + e] += Σ_j weights[row r][j] x[j][64 c + 4 x + e] over kKeys rows j.
template <int kKeys, int kD, int kR>
__device__ __forceinline__ void add_mix(const float* weights, const float* x,
                                        float (&sums)[kR][kD / kSide]) {
  const float* weight_rows = weights + tile_y() * kR * kPitch<kKeys>;
  const float* columns = x + 4 * tile_x();
#pragma unroll 1
  for (int j = 0; j < kKeys; j += 4) {
    float4 w[kR];
#pragma unroll
    for (int r = 0; r < kR; ++r) w[r] = read4(weight_rows + r * kPitch<kKeys> + j);
#pragma unroll
    for (int c = 0; c < kD / 64; ++c) {
      const float* at = columns + j * kPitch<kD> + 64 * c;
      const float4 x0 = read4(at), x1 = read4(at + kPitch<kD>);
      const float4 x2 = read4(at + 2 * kPitch<kD>), x3 = read4(at + 3 * kPitch<kD>);
#pragma unroll
      for (int r = 0; r < kR; ++r) {
        add_scaled(w[r].x, x0, sums[r] + 4 * c);
        add_scaled(w[r].y, x1, sums[r] + 4 * c);
        add_scaled(w[r].z, x2, sums[r] + 4 * c);
        add_scaled(w[r].w, x3, sums[r] + 4 * c);
      }
    }
  }
}

// to[row][d] = factors[r] sums[r][...] for the thread's rows below `rows` and columns below D.
template <int kD, int kR, class T>
__device__ __forceinline__ void store_rows(T* to, std::int64_t stride, int rows, int D,
                                           bool aligned, const float (&factors)[kR],
                                           const float (&sums)[kR][kD / kSide]) {
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const int row = tile_y() * kR + r;
    if (row >= rows) break;
#pragma unroll
    for (int c = 0; c < kD / 64; ++c) {
      const int d = 64 * c + 4 * tile_x();
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) x[e] = factors[r] * sums[r][4 * c + e];
      T* at = to + row * stride + d;
      if (aligned && d < D) store<4>(at, x);
      if (aligned) continue;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (d + e < D) at[e] = from_f32<T>(x[e]);
    }
  }
}

}  // namespace twill::cuda
