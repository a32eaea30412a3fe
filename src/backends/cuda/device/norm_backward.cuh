// SPDX-License-Identifier: Apache-2.0
// Backward pass of layer norm (kCentred) and RMS norm. Blocks are persistent: block b owns the row
// batches b, b + blocks, …, a cut by shape and device alone, and every thread owns fixed columns,
// whose sums for dweight and dbias it keeps in registers over all rows of its block. Each block
// writes one row of partial sums; add_partials_kernel adds those in a fixed order.
//
//   register path: 8 columns per thread and two rows of bf16 or one of f32 at once (up to 2048
//     columns), or 16 columns and one row (up to 8192). All of a batch is loaded before its row
//     sums, which cost one barrier. Behind the barrier, unpacking again is cheaper than registers.
//   strided path: any row length and alignment, the same rows in the same order and so the same
//     dweight and dbias; its sums per column wait in the partials, which stay in L1 and L2.
//
// Bound by memory: x, dy [and dx] in, dx out; 8 bytes per element of bf16 with accumulate_dx. At
// 1600 columns three blocks of 224 threads fit an SM and have 57 KB in flight, where bandwidth times
// latency asks for about 17. The partials of 396 blocks are 5 MB beside 210 MB at 16384 rows.
#pragma once

#include <cstdint>

#include "backends/cuda/device/row.cuh"

namespace twill::cuda {

template <class T>
struct NormBackward {
  const T* x;         // (rows, C)
  const T* weight;    // (C)
  const float* mean;  // (rows), null unless centred
  const float* rstd;  // (rows)
  const T* dy;        // (rows, C), may be the memory of dx
  T* dx;              // (rows, C)
  float* partials;    // (blocks, width)
  std::int64_t rows;
  std::int64_t C;
  std::int64_t width;  // 2 C, dweight before dbias, or C without dbias
  bool accumulate_dx;
};

// Threads of the largest block, and how many such blocks the registers of an SM must hold.
inline constexpr int kNarrowThreads = 256, kNarrowBlocks = 3;
inline constexpr int kWideThreads = 512, kWideBlocks = 1;
inline constexpr int kStridedThreads = 256;

template <bool kWide>
inline constexpr int kColumnsPerThread = kWide ? 16 : 8;
// Two rows of f32 would not fit the registers, and one has the bytes of two of bf16.
template <class T, bool kWide>
inline constexpr int kRowsAtOnce = !kWide && sizeof(T) == 2 ? 2 : 1;
template <bool kWide>
inline constexpr int kBackwardThreads = kWide ? kWideThreads : kNarrowThreads;

// blockDim.x is a multiple of 32 and covers the row: blockDim.x kColumnsPerThread >= C.
template <class T, bool kCentred, bool kWide>
__global__ __launch_bounds__(kBackwardThreads<kWide>,
                             kWide ? kWideBlocks
                                   : kNarrowBlocks) void norm_backward_kernel(NormBackward<T> a) {
  constexpr int kN = kVec<T>, kPacks = kColumnsPerThread<kWide> / kN, kRows = kRowsAtOnce<T, kWide>;
  constexpr int kSums = kCentred ? 2 : 1;  // per row: Σ g n [and Σ g]
  const int C = static_cast<int>(a.C), num_packs = C / kN;
  const float per_column = 1.0f / static_cast<float>(C);
  const auto pack = [](int p) { return static_cast<int>(p * blockDim.x + threadIdx.x); };

  float weight[kPacks][kN], dweight[kPacks][kN] = {}, dbias[kPacks][kN] = {};
#pragma unroll
  for (int p = 0; p < kPacks; ++p)
    unpack<T>(load16_constant(a.weight + min(pack(p), num_packs - 1) * kN), weight[p]);

  int half = 0;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kRows; first < a.rows;
       first += std::int64_t{gridDim.x} * kRows, half ^= 1) {
    // Loads ask no questions, so that all of them are in flight together: what lies outside is
    // replaced by the last row or piece and not used.
    uint4 x_bits[kRows][kPacks], dy_bits[kRows][kPacks], dx_bits[kRows][kPacks] = {};
    float mean[kRows] = {}, rstd[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t row = first + r < a.rows ? first + r : a.rows - 1;
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const std::int64_t at = row * C + min(pack(p), num_packs - 1) * kN;
        x_bits[r][p] = load16_constant(a.x + at);
        dy_bits[r][p] = load16(a.dy + at);
        if (a.accumulate_dx) dx_bits[r][p] = load16(a.dx + at);
      }
      if constexpr (kCentred) mean[r] = a.mean[row];
      rstd[r] = a.rstd[row];
    }

    float sums[kRows * kSums] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (first + r >= a.rows || pack(p) >= num_packs) continue;
        float x[kN], dy[kN];
        unpack<T>(x_bits[r][p], x);
        unpack<T>(dy_bits[r][p], dy);
#pragma unroll
        for (int i = 0; i < kN; ++i) {
          const float n = (x[i] - mean[r]) * rstd[r], g = dy[i] * weight[p][i];
          sums[r * kSums] += g * n;
          dweight[p][i] += dy[i] * n;
          if constexpr (kCentred) {
            sums[r * kSums + 1] += g;
            dbias[p][i] += dy[i];
          }
        }
      }
    }
    block_sums<kRows * kSums, kBackwardThreads<kWide>>(sums, half);

#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float mean_gn = sums[r * kSums] * per_column;
      const float mean_g = kCentred ? sums[r * kSums + kSums - 1] * per_column : 0.0f;
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (first + r >= a.rows || pack(p) >= num_packs) continue;
        float x[kN], dy[kN], dx[kN];
        unpack<T>(x_bits[r][p], x);
        unpack<T>(dy_bits[r][p], dy);
        unpack<T>(dx_bits[r][p], dx);
#pragma unroll
        for (int i = 0; i < kN; ++i) {
          const float n = (x[i] - mean[r]) * rstd[r], g = dy[i] * weight[p][i];
          dx[i] += rstd[r] * (g - mean_g - n * mean_gn);
        }
        store<kN>(a.dx + (first + r) * C + pack(p) * kN, dx);
      }
    }
  }

  float* partials = a.partials + blockIdx.x * a.width;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (pack(p) >= num_packs) continue;
    store<kN>(partials + pack(p) * kN, dweight[p]);
    if (kCentred && a.width > C) store<kN>(partials + C + pack(p) * kN, dbias[p]);
  }
}

// `batch`: rows at once of the register path, whose cut this follows.
template <class T, bool kCentred>
__global__ __launch_bounds__(kStridedThreads) void norm_backward_strided_kernel(NormBackward<T> a,
                                                                                int batch) {
  const float per_column = 1.0f / static_cast<float>(a.C);
  float* dweight = a.partials + blockIdx.x * a.width;
  float* dbias = kCentred && a.width > a.C ? dweight + a.C : nullptr;
  const std::int64_t begin = std::int64_t{blockIdx.x} * batch;
  for (std::int64_t first = begin; first < a.rows; first += std::int64_t{gridDim.x} * batch) {
    const std::int64_t end = first + batch < a.rows ? first + batch : a.rows;
    for (std::int64_t row = first; row < end; ++row) {
      const T* x = a.x + row * a.C;
      const T* dy = a.dy + row * a.C;
      T* dx = a.dx + row * a.C;
      const float mean = kCentred ? a.mean[row] : 0.0f, rstd = a.rstd[row];

      float sum_g = 0.0f, sum_gn = 0.0f;
      for (std::int64_t c = threadIdx.x; c < a.C; c += kStridedThreads) {
        const float n = (to_f32(x[c]) - mean) * rstd, g = to_f32(dy[c]) * to_f32(a.weight[c]);
        sum_g += g;
        sum_gn += g * n;
      }
      const float mean_g = kCentred ? block_sum<kStridedThreads>(sum_g) * per_column : 0.0f;
      const float mean_gn = block_sum<kStridedThreads>(sum_gn) * per_column;

      for (std::int64_t c = threadIdx.x; c < a.C; c += kStridedThreads) {
        const float dy_c = to_f32(dy[c]);  // before dx is written: it may lie there
        const float n = (to_f32(x[c]) - mean) * rstd, g = dy_c * to_f32(a.weight[c]);
        const float added_to = a.accumulate_dx ? to_f32(dx[c]) : 0.0f;
        dx[c] = from_f32<T>(added_to + rstd * (g - mean_g - n * mean_gn));
        dweight[c] = (row == begin ? 0.0f : dweight[c]) + dy_c * n;
        if (dbias != nullptr) dbias[c] = (row == begin ? 0.0f : dbias[c]) + dy_c;
      }
    }
  }
}

}  // namespace twill::cuda
