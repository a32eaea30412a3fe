// SPDX-License-Identifier: Apache-2.0
// Forward pass of layer norm (kCentred) and RMS norm. As many blocks as an SM holds stay to the
// end, and take their rows one at a time:
//
//   register path: a row is read once, 16 bytes an access, and stays in the registers of a warp (up
//     to 256 pieces: 2048 bf16) or of a block of 256 threads (up to 2048 pieces). Mean, variance of
//     the centred values and result come from there. Weight and bias come from L1. The next row is
//     on its way meanwhile.
//   strided path: any row length and alignment; a block reads its row element by element, once per
//     pass, the second and third time from L1 or L2.
//
// Bound by memory: x in, y out, 4 bytes per element of bf16. At 1600 columns each of 16 warps of an
// SM has 3200 bytes in flight at all times: 51 KB, where bandwidth times latency asks for 16 of
// reading. A row costs a warp some 800 instructions, half of what an SM issues in the time of its
// bytes.
#pragma once

#include <cstdint>

#include "backends/cuda/device/row.cuh"

namespace twill::cuda {

template <class T>
struct NormForward {
  const T* x;       // (rows, C)
  const T* weight;  // (C)
  const T* bias;    // (C) or null
  T* y;             // (rows, C)
  float* mean;      // (rows), null unless centred
  float* rstd;      // (rows)
  std::int64_t rows;
  std::int64_t C;
  float eps;
};

inline constexpr int kNormThreads = 256;  // of the strided paths, and of a block that shares a row

// Four warps, a row each.
template <int kTeam>
inline constexpr int kForwardThreads = kTeam == kWarp ? 4 * kWarp : kTeam;
// Threads of an SM. Two rows of seven pieces are 56 registers of 128, two of three 24 of 64.
template <int kTeam, int kPacks>
inline constexpr int kForwardResident = kPacks <= (kTeam == kWarp ? 3 : 4) ? 1024
                                        : kPacks == 4                      ? 768
                                        : kPacks<8 || kTeam> kWarp         ? 512
                                                                           : 384;
template <int kTeam, int kPacks>
inline constexpr int kForwardBlocks = kForwardResident<kTeam, kPacks> / kForwardThreads<kTeam>;

template <class T>
__device__ __forceinline__ void keep_statistics(const NormForward<T>& a, std::int64_t row,
                                                float mean, float rstd) {
  if (a.mean != nullptr) a.mean[row] = mean;
  a.rstd[row] = rstd;
}

template <class T, bool kCentred, int kTeam, int kPacks, int kSure>
__global__ __launch_bounds__(
    kForwardThreads<kTeam>,
    kForwardBlocks<kTeam, kPacks>) void norm_forward_kernel(NormForward<T> a) {
  constexpr int kN = kVec<T>, kTeams = kForwardThreads<kTeam> / kTeam;
  const int C = static_cast<int>(a.C);
  const int team = static_cast<int>(threadIdx.x) / kTeam;
  const int member = static_cast<int>(threadIdx.x) % kTeam;
  const int mine = member * kN, left = C / kN - member;  // the thread's first column and its pieces
  const float length = static_cast<float>(C);

  const std::int64_t stride = std::int64_t{gridDim.x} * kTeams;
  std::int64_t row = std::int64_t{blockIdx.x} * kTeams + team;
  HeldRow<T, kTeam, kPacks, kSure> held, next;
  if (row < a.rows) held.load(a.x + row * C + mine, left);
  for (; row < a.rows; row += stride) {
    if (row + stride < a.rows) next.load(a.x + (row + stride) * C + mine, left);

    float mean = 0.0f;
    if constexpr (kCentred) {
      float sum = 0.0f;
      held.for_each_pack(left, [&](int, const float(&x)[kN]) {
#pragma unroll
        for (int i = 0; i < kN; ++i) sum += x[i];
      });
      mean = team_sum<kTeam>(sum) / length;
    }
    float squares = 0.0f;
    held.for_each_pack(left, [&](int, const float(&x)[kN]) {
#pragma unroll
      for (int i = 0; i < kN; ++i) squares += (x[i] - mean) * (x[i] - mean);
    });
    const float rstd = 1.0f / sqrtf(team_sum<kTeam>(squares) / length + a.eps);

    T* y = a.y + row * C + mine;
    held.for_each_pack(left, [&](int offset, const float(&x)[kN]) {
      uint4 bias_bits = {};
      if (a.bias != nullptr) bias_bits = load16_constant(a.bias + mine + offset);
      float weight[kN], bias[kN], out[kN];
      unpack<T>(load16_constant(a.weight + mine + offset), weight);
      unpack<T>(bias_bits, bias);
#pragma unroll
      for (int i = 0; i < kN; ++i) out[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
      store16(y + offset, pack<T>(out));
    });
    if (member == 0) keep_statistics(a, row, mean, rstd);
    held = next;
  }
}

template <class T, bool kCentred>
__global__ __launch_bounds__(kNormThreads) void norm_forward_strided_kernel(NormForward<T> a) {
  const float length = static_cast<float>(a.C);
  for (std::int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const T* x = a.x + row * a.C;
    T* y = a.y + row * a.C;

    float mean = 0.0f;
    if constexpr (kCentred) {
      float sum = 0.0f;
      for (std::int64_t c = threadIdx.x; c < a.C; c += kNormThreads) sum += to_f32(x[c]);
      mean = block_sum<kNormThreads>(sum) / length;
    }
    float squares = 0.0f;
    for (std::int64_t c = threadIdx.x; c < a.C; c += kNormThreads) {
      const float centred = to_f32(x[c]) - mean;
      squares += centred * centred;
    }
    const float rstd = 1.0f / sqrtf(block_sum<kNormThreads>(squares) / length + a.eps);

    for (std::int64_t c = threadIdx.x; c < a.C; c += kNormThreads) {
      const float bias = a.bias != nullptr ? to_f32(a.bias[c]) : 0.0f;
      y[c] = from_f32<T>((to_f32(x[c]) - mean) * rstd * to_f32(a.weight[c]) + bias);
    }
    if (threadIdx.x == 0) keep_statistics(a, row, mean, rstd);
  }
}

}  // namespace twill::cuda
