// SPDX-License-Identifier: Apache-2.0
// Backward pass of layer norm (kCentred) and RMS norm. One persistent block per SM, of several
// teams of warps; a team takes a row at a time, rows that shape and device alone give it. Every
// thread owns fixed columns and keeps their sums for dweight, dbias and dx_sum in registers over
// all rows of its team. The block adds its teams' sums and writes one row of partial sums per kind;
// add_partials_kernel adds those in a fixed order.
//
//   staged path: 8 columns per thread (up to 2048), or 16 of bf16 and 8 of f32 (up to 8192 and
//     4096). A thread copies its own pieces of the rows to come into its own slots of shared
//     memory, so that loads never wait for the sums of a row, which cost the team one barrier.
//   strided path: any row length and alignment, the same rows in the same order and so the same
//     dweight and dbias; its sums per column wait in the partials, which stay in L1 and L2.
//
// Bound by memory: x, dy [and dx] in, dx out; 8 bytes per element of bf16 with accumulate_dx. At
// 1600 columns three teams of 224 threads have nine rows in flight, 86 KB (58 without dx), where
// bandwidth times latency asks for 32. The work is some 1800 warp instructions per row, 60 % of
// what an SM issues in the time of the row's bytes. The partials of 132 blocks are 2.5 MB beside
// 210.
#pragma once

#include <cstdint>

#include "backends/cuda/device/async_copy.cuh"
#include "backends/cuda/device/partial_sums.cuh"
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
  float* partials;    // (blocks, kNormSums, C), of the strided path (teams, blocks, kNormSums, C)
  std::int64_t rows;
  std::int64_t C;
  bool accumulate_dx;
};

// Kinds of sums over rows, in the order of the partials.
inline constexpr int kDWeight = 0, kDxSum = 1, kDBias = 2;
template <bool kCentred>
inline constexpr int kNormSums = kCentred ? 3 : 2;

// Threads of a block: 80 registers each, or 128 where 80 are not enough.
template <class T, bool kWide>
inline constexpr int kBackwardThreads = kWide || sizeof(T) == 4 ? 512 : 768;
template <bool kWide>
inline constexpr int kMaxTeamWarps = kWide ? 16 : 8;
// A wide row takes at least 5 warps, so three teams fit; named barriers end at 15.
template <bool kWide>
inline constexpr int kMaxTeams = kWide ? 3 : 12;
template <class T, bool kWide>
inline constexpr int kColumnsPerThread = kWide && sizeof(T) == 2 ? 16 : 8;
// Rows in shared memory, one of them at hand: twelve pieces per thread for every combination.
template <class T, bool kWide>
inline constexpr int kStages = 64 / (kColumnsPerThread<T, kWide> * static_cast<int>(sizeof(T)));
// Slots of 16 bytes per thread. Slot k of all threads lies together, as the bytes do in the row: a
// copy of 128 bytes then is one write to shared memory. Slots of a thread side by side made it eight
// and cost a third of the speed.
inline constexpr int kSlots = 12;
inline constexpr int kStridedThreads = 256;

// What a team's warps tell each other: each its sums over a row, in two halves that rows take in
// turn, so that one barrier per row is enough. Warps that a team does not have tell zero.
template <bool kCentred, bool kWide>
class TeamSums {
 public:
  static constexpr int kSums = kCentred ? 2 : 1;  // Σ g n [and Σ g]
  using Memory = float4[2][kMaxTeams<kWide>][kSums][kMaxTeamWarps<kWide> / 4];

  // For a thread of a team of `threads`, the team-th of its block. All threads must call this, and
  // meet at a barrier before they add.
  __device__ __forceinline__ TeamSums(Memory& memory, int team, int threads)
      : barrier_(team + 1), threads_(threads), of_team_(address_of(memory[0][team])) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
    of_warp_ = address_of(reinterpret_cast<float*>(memory[0][team][lane / kLanes]) +
                          thread % threads / kWarp);
    auto* floats = reinterpret_cast<float*>(memory);
    for (int i = thread; i < static_cast<int>(sizeof(Memory) / 4); i += blockDim.x)
      floats[i] = 0.0f;
  }

  // For all threads of the team.
  __device__ __forceinline__ void wait() const { sync_threads(barrier_, threads_); }

  // `sums` over the team. `half` is 0, 1, 0, 1, …
  __device__ __forceinline__ void add(float (&sums)[kSums], int half) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, offset = half * kHalfBytes;
    float mine = sums[0];
    if constexpr (kCentred) {  // half a warp goes on with one sum, half with the other
      const bool upper = lane >= kLanes;
      mine = upper ? sums[1] : sums[0];
      mine += __shfl_xor_sync(0xffff'ffffu, upper ? sums[0] : sums[1], kLanes);
    }
    mine = warp_sum<kLanes>(mine);
    if (lane % kLanes == 0) write4(of_warp_ + offset, mine);
    wait();
#pragma unroll
    for (int k = 0; k < kSums; ++k) {
#pragma unroll
      for (int w = 0; w < kMaxTeamWarps<kWide>; w += 4) {
        float four[4];
        unpack<float>(read16(of_team_ + offset + (k * kMaxTeamWarps<kWide> + w) * 4), four);
        const float of_four = (four[0] + four[1]) + (four[2] + four[3]);
        sums[k] = w == 0 ? of_four : sums[k] + of_four;
      }
    }
  }

 private:
  static constexpr int kLanes = kWarp / kSums;  // that end with one sum
  static constexpr int kHalfBytes = sizeof(Memory) / 2;

  int barrier_, threads_;
  SharedAddress of_team_, of_warp_;  // in half 0
};

// Adds the sums of the block's teams, in their order, to those of the first. `memory` has room for
// the sums of all threads; nobody uses it any more.
template <int kCount>
__device__ __forceinline__ void add_teams(float (&sums)[kCount], float4* memory, int team,
                                          int threads) {
  const int member = static_cast<int>(threadIdx.x) % threads;
  const int teams = static_cast<int>(blockDim.x) / threads;
  const auto place = [&](int of_team, int four) {
    return memory + ((of_team - 1) * (kCount / 4) + four) * threads + member;
  };
  if (team > 0) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4)
      *place(team, i / 4) = make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
  }
  __syncthreads();
  if (team > 0) return;
  for (int other = 1; other < teams; ++other) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float4 four = *place(other, i / 4);
      sums[i] += four.x, sums[i + 1] += four.y, sums[i + 2] += four.z, sums[i + 3] += four.w;
    }
  }
}

// A team is `threads` threads, a multiple of 32 that covers the row (threads kColumnsPerThread >=
// C); blockDim.x is a multiple of it. Dynamic shared memory: kSlots 16 bytes per thread.
template <class T, bool kCentred, bool kWide>
__global__ __launch_bounds__(kBackwardThreads<T, kWide>,
                             1) void norm_backward_kernel(NormBackward<T> a, int threads) {
  constexpr int kN = kVec<T>, kColumns = kColumnsPerThread<T, kWide>, kPacks = kColumns / kN;
  constexpr int kDepth = kStages<T, kWide>, kKinds = kNormSums<kCentred>;
  constexpr int kHeld = kColumns > 8 ? 1 : kPacks;  // pieces that are not made again for dx
  static_assert(kDepth * 3 * kPacks == kSlots, "x, dy and dx of every stage");
  using Sums = TeamSums<kCentred, kWide>;
  extern __shared__ uint4 slots[];
  __shared__ typename Sums::Memory sums_memory;
  alignas(8) __shared__ float statistics[kBackwardThreads<T, kWide> / kWarp][kDepth][2];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const int team = thread / threads, member = thread % threads;
  const Sums team_sums(sums_memory, team, threads);
  __syncthreads();

  const int C = static_cast<int>(a.C), left = C / kN - member;  // pieces from the first of mine on
  const float per_column = 1.0f / static_cast<float>(C);

  uint4 weight_bits[kPacks];
  float sums[kKinds * kColumns] = {};  // (kinds, pieces, kN)
#pragma unroll
  for (int p = 0; p < kPacks; ++p)
    if (p * threads < left)
      weight_bits[p] = load16_constant(a.weight + (p * threads + member) * kN);

  // The rows of the team: first, first + step, …
  const std::int64_t step = std::int64_t{gridDim.x} * (blockDim.x / threads);
  const std::int64_t first = std::int64_t{team} * gridDim.x + blockIdx.x;
  const int count = first < a.rows ? static_cast<int>((a.rows - first + step - 1) / step) : 0;
  const SharedAddress mine = address_of(slots + thread);  // (kDepth, x dy dx, kPacks), by `pitch`
  const unsigned pitch = blockDim.x * 16;
  const SharedAddress of_rows = address_of(statistics[thread / kWarp]);  // (kDepth, mean rstd)
  std::int64_t next = first * C + member * kN;  // of the row to copy next: my first element
  const float* next_statistic = (kCentred && lane == 0 ? a.mean : a.rstd) + first;
  const auto fetch = [&](int i, int stage) {
    if (i < count) {
      const SharedAddress to = mine + stage * 3 * kPacks * pitch;
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (p * threads < left) {
          const std::int64_t at = next + p * threads * kN;
          copy16_async(to + p * pitch, a.x + at);
          copy16_async(to + (kPacks + p) * pitch, a.dy + at);
          if (a.accumulate_dx) copy16_async(to + (2 * kPacks + p) * pitch, a.dx + at);
        }
      }
      if (lane < 2 && (kCentred || lane == 1))
        copy4_async(of_rows + stage * 8 + lane * 4, next_statistic);
    }
    commit_copies();
    next += step * C;
    next_statistic += step;
  };
#pragma unroll
  for (int s = 0; s < kDepth - 1; ++s) fetch(s, s);

  T* dx_row = a.dx + (first * C + member * kN);
  for (int i = 0; i < count; ++i, dx_row += step * C) {
    const int stage = i & (kDepth - 1);
    // Into the slots of the row before, which all of the team have read: its barrier lies between.
    fetch(i + kDepth - 1, (i + kDepth - 1) & (kDepth - 1));
    wait_for_copies<kDepth - 1>();
    __syncwarp();  // the statistics came through two lanes
    const SharedAddress from = mine + stage * 3 * kPacks * pitch;
    const float2 statistic = read8(of_rows + stage * 8);
    const float mean = kCentred ? statistic.x : 0.0f, rstd = statistic.y;

    const auto read_row = [&](int p, float(&n_of)[kN], float(&g_of)[kN], float(&dy)[kN]) {
      float weight[kN];
      keep_packed(weight_bits[p]);
      unpack<T>(weight_bits[p], weight);
      unpack<T>(read16(from + p * pitch), n_of);
      unpack<T>(read16(from + (kPacks + p) * pitch), dy);
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        n_of[j] = (n_of[j] - mean) * rstd;
        g_of[j] = dy[j] * weight[j];
      }
    };

    float n[kHeld][kN], g[kHeld][kN], dy[kN], row_sums[Sums::kSums] = {};
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (p * threads < left) {
        const int h = p % kHeld;
        read_row(p, n[h], g[h], dy);
#pragma unroll
        for (int j = 0; j < kN; ++j) {
          row_sums[0] += g[h][j] * n[h][j];
          float& dweight = sums[(kDWeight * kPacks + p) * kN + j];
          dweight = fmaf(dy[j], n[h][j], dweight);
          if constexpr (kCentred) {
            row_sums[1] += g[h][j];
            sums[(kDBias * kPacks + p) * kN + j] += dy[j];
          }
        }
      }
    }
    team_sums.add(row_sums, i & 1);

    const float mean_gn = row_sums[0] * per_column;
    const float mean_g = kCentred ? row_sums[Sums::kSums - 1] * per_column : 0.0f;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (p * threads < left) {
        const int h = p % kHeld;
        if constexpr (kHeld < kPacks) read_row(p, n[h], g[h], dy);
        float dx[kN] = {};
        if (a.accumulate_dx) unpack<T>(read16(from + (2 * kPacks + p) * pitch), dx);
#pragma unroll
        for (int j = 0; j < kN; ++j) dx[j] += rstd * (g[h][j] - mean_g - n[h][j] * mean_gn);
        const uint4 stored = pack<T>(dx);
        store16(dx_row + p * threads * kN, stored);
        unpack<T>(stored, dx);  // as rounded
#pragma unroll
        for (int j = 0; j < kN; ++j) sums[(kDxSum * kPacks + p) * kN + j] += dx[j];
      }
    }
  }

  let_next_grid_start();
  // The slots are read: sums take their place. The block's barrier is enough; racecheck, which does not
  // set it against accesses behind a named one, wants to see the team's as well.
  team_sums.wait();
  __syncthreads();
  add_teams(sums, reinterpret_cast<float4*>(slots), team, threads);
  if (team > 0) return;
  float* partials = a.partials + blockIdx.x * kKinds * a.C;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (p * threads < left) {
#pragma unroll
      for (int k = 0; k < kKinds; ++k) {
        float values[kN];
#pragma unroll
        for (int j = 0; j < kN; ++j) values[j] = sums[(k * kPacks + p) * kN + j];
        store<kN>(partials + k * a.C + (p * threads + member) * kN, values);
      }
    }
  }
}

}  // namespace twill::cuda
