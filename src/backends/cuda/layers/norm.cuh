// SPDX-License-Identifier: Apache-2.0
// Launchers that layer norm and RMS norm share: which path, how a row is held, how rows are cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backends/cuda/device/layers/norm_backward_strided.cuh"
#include "backends/cuda/device/layers/norm_forward.cuh"
#include "backends/cuda/numbers/partial_sums.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"

namespace twill::cuda {

template <class T, bool kCentred, int kTeam, int kPacks, int kSure>
void launch_forward(const NormForward<T>& a, const Device& device, Queue& queue) {
  constexpr int kThreads = kForwardThreads<kTeam>;
  const unsigned blocks =
      grid_for(ceil_div(a.rows, kThreads / kTeam), kForwardBlocks<kTeam, kPacks>, device);
  norm_forward_kernel<T, kCentred, kTeam, kPacks, kSure>
      <<<blocks, kThreads, 0, stream_of(queue)>>>(a);
  TWILL_CUDA_CHECK_LAUNCH();
}

// A warp per row, with the number of pieces that fits: only the last may miss some.
template <class T, bool kCentred, int kPacks>
void launch_warps(const NormForward<T>& a, std::int64_t packs, const Device& device, Queue& queue) {
  if constexpr (kPacks < 8)
    if (packs > kPacks * kWarp)
      return launch_warps<T, kCentred, kPacks + 1>(a, packs, device, queue);
  launch_forward<T, kCentred, kWarp, kPacks, kPacks - 1>(a, device, queue);
}

// `fits`: every operand begins on a 16-byte boundary.
template <bool kCentred, class T>
void norm_forward(const NormForward<T>& a, bool fits, const Device& device, Queue& queue) {
  if (a.rows == 0) return;
  const std::int64_t packs = a.C / kVec<T>;
  if (!fits || a.C % kVec<T> != 0 || packs > 8 * kNormThreads) {
    norm_forward_strided_kernel<T, kCentred>
        <<<grid_for(a.rows, 8, device), kNormThreads, 0, stream_of(queue)>>>(a);
    TWILL_CUDA_CHECK_LAUNCH();
    return;
  }
  if (packs <= 8 * kWarp) return launch_warps<T, kCentred, 1>(a, packs, device, queue);
  if (packs <= 4 * kNormThreads)
    return launch_forward<T, kCentred, kNormThreads, 4, 0>(a, device, queue);
  return launch_forward<T, kCentred, kNormThreads, 8, 0>(a, device, queue);
}

// Where the sums over rows go; null where nobody wants them.
struct NormSums {
  float* dweight;
  float* dbias;
  float* dx;
  bool accumulate;
};

// How the backward pass cuts the rows. Shape and device decide, not alignment: the strided path
// takes the same cut, so dweight and dbias have one order of sums per shape.
struct NormCut {
  bool wide;
  bool fits;    // shared memory holds a team
  int threads;  // of a team: what covers a row
  int teams;    // of a block
  unsigned blocks;
};

template <class T, bool kWide>
NormCut cut_rows(std::int64_t rows, std::int64_t C, const Device& device) {
  const std::int64_t covering = ceil_div(ceil_div(C, kColumnsPerThread<T, kWide>), kWarp) * kWarp;
  const auto threads = std::min<std::int64_t>(covering, kMaxTeamWarps<kWide> * kWarp);
  // 8 KB are for the static shared memory and the system's.
  const std::int64_t fitting = (shared_bytes_per_block(device) - 8192) / (kSlots * 16 * threads);
  const auto teams = std::clamp<std::int64_t>(
      std::min(kBackwardThreads<T, kWide> / threads, fitting), 1, kMaxTeams<kWide>);
  return {kWide, fitting > 0, static_cast<int>(threads), static_cast<int>(teams),
          grid_for(ceil_div(rows, teams), 1, device)};
}

template <class T, bool kCentred, bool kWide>
void launch_staged(const NormBackward<T>& a, const NormCut& cut, Queue& queue) {
  const int threads = cut.threads * cut.teams;
  launch_with_shared(norm_backward_kernel<T, kCentred, kWide>, dim3(cut.blocks), threads,
                     std::int64_t{kSlots} * 16 * threads, queue, a, cut.threads);
}

template <class T, bool kCentred>
void launch_strided(const NormBackward<T>& a, const NormCut& cut, Queue& queue) {
  const cudaStream_t stream = stream_of(queue);
  const dim3 grid(cut.blocks, static_cast<unsigned>(cut.teams));
  norm_backward_strided_kernel<T, kCentred><<<grid, kStridedThreads, 0, stream>>>(a);
  TWILL_CUDA_CHECK_LAUNCH();
  const std::int64_t size = cut.blocks * kNormSums<kCentred> * a.C;
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(ceil_div(size, kStridedThreads), std::numeric_limits<int>::max()));
  add_team_partials_kernel<kStridedThreads>
      <<<blocks, kStridedThreads, 0, stream>>>(a.partials, cut.teams, size);
  TWILL_CUDA_CHECK_LAUNCH();
}

// Fills a.partials, then adds them up to what is asked for of dweight, dbias and dx_sum. `fits`:
// every operand begins on a 16-byte boundary.
template <bool kCentred, class T>
void norm_backward(NormBackward<T> a, bool fits, const NormSums& sums, const Device& device,
                   Queue& queue) {
  constexpr int kNarrowest = kMaxTeamWarps<false> * kWarp * kColumnsPerThread<T, false>;
  constexpr int kWidest = kMaxTeamWarps<true> * kWarp * kColumnsPerThread<T, true>;
  const NormCut cut = a.C > kNarrowest ? cut_rows<T, true>(a.rows, a.C, device)
                                       : cut_rows<T, false>(a.rows, a.C, device);
  const bool strided = !fits || !cut.fits || a.C % kVec<T> != 0 || a.C > kWidest;
  const std::int64_t width = kNormSums<kCentred> * a.C;
  const std::int64_t count = cut.blocks * std::int64_t{strided ? cut.teams : 1};
  a.partials = reinterpret_cast<float*>(
      reduction_scratch(queue, count * width * std::int64_t{sizeof(float)}));

  if (a.rows > 0) {
    if (strided)
      launch_strided<T, kCentred>(a, cut, queue);
    else if (cut.wide)
      launch_staged<T, kCentred, true>(a, cut, queue);
    else
      launch_staged<T, kCentred, false>(a, cut, queue);
  }
  add_partials(
      a.partials, a.rows > 0 ? cut.blocks : 0, width,
      {.to = {sums.dweight, sums.dx, sums.dbias}, .columns = a.C, .accumulate = sums.accumulate},
      device, queue);
}

}  // namespace twill::cuda
