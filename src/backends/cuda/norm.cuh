// SPDX-License-Identifier: Apache-2.0
// Launchers that layer norm and RMS norm share: which path, how a row is held, how rows are cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backends/cuda/check.h"
#include "backends/cuda/device/norm_backward.cuh"
#include "backends/cuda/device/norm_forward.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/partial_sums.cuh"
#include "backends/cuda/queue.h"
#include "backends/cuda/scratch.h"

namespace twill::cuda {

// A block (or a warp) per row; the kernels stride should a grid not reach.
inline unsigned grid_of_rows(std::int64_t rows, int rows_per_block) {
  return static_cast<unsigned>(
      std::min<std::int64_t>(ceil_div(rows, rows_per_block), std::numeric_limits<int>::max()));
}

template <class T, bool kCentred, int kTeam, int kPacks>
void launch_forward(const NormForward<T>& a, Queue& queue) {
  constexpr int kThreads = kForwardThreads<kTeam>;
  norm_forward_kernel<T, kCentred, kTeam, kPacks>
      <<<grid_of_rows(a.rows, kThreads / kTeam), kThreads, 0, stream_of(queue)>>>(a);
  TWILL_CUDA_CHECK_LAUNCH();
}

// `fits`: every operand begins on a 16-byte boundary.
template <bool kCentred, class T>
void norm_forward(const NormForward<T>& a, bool fits, Queue& queue) {
  if (a.rows == 0) return;
  const std::int64_t packs = a.C / kVec<T>;
  if (!fits || a.C % kVec<T> != 0 || packs > 8 * kNormThreads) {
    norm_forward_strided_kernel<T, kCentred>
        <<<grid_of_rows(a.rows, 1), kNormThreads, 0, stream_of(queue)>>>(a);
    TWILL_CUDA_CHECK_LAUNCH();
    return;
  }
  if (packs <= 2 * kWarp) return launch_forward<T, kCentred, kWarp, 2>(a, queue);
  if (packs <= 4 * kWarp) return launch_forward<T, kCentred, kWarp, 4>(a, queue);
  if (packs <= 8 * kWarp) return launch_forward<T, kCentred, kWarp, 8>(a, queue);
  if (packs <= 4 * kNormThreads) return launch_forward<T, kCentred, kNormThreads, 4>(a, queue);
  return launch_forward<T, kCentred, kNormThreads, 8>(a, queue);
}

// How the backward pass cuts the rows. Shape and device decide, not alignment: the strided path
// takes the same cut, so dweight and dbias have one order of sums per shape.
struct NormCut {
  bool wide;
  int threads;  // of the register path: what covers a row
  int batch;
  unsigned blocks;
};

template <class T>
NormCut cut_rows(std::int64_t rows, std::int64_t C, const Device& device) {
  const bool wide = C > kNarrowThreads * kColumnsPerThread<false>;
  const int columns = wide ? kColumnsPerThread<true> : kColumnsPerThread<false>;
  const std::int64_t covering = ceil_div(ceil_div(C, columns), kWarp) * kWarp;
  const int threads = static_cast<int>(std::min<std::int64_t>(covering, kWideThreads));
  const int batch = wide ? kRowsAtOnce<T, true> : kRowsAtOnce<T, false>;
  // As many as the launch bounds make sure are resident: a block behind the first wave would run
  // alone. 16 blocks of one warp are enough for the narrowest rows, and keep the partials small.
  const int resident = wide ? kWideThreads * kWideBlocks : kNarrowThreads * kNarrowBlocks;
  const int per_sm = std::clamp(resident / threads, 1, 16);
  return {wide, threads, batch, grid_for(ceil_div(rows, batch), per_sm, device)};
}

// Fills a.partials, then adds them onto dweight and, where there is one, dbias.
template <bool kCentred, class T>
void norm_backward(NormBackward<T> a, bool fits, float* dweight, float* dbias, const Device& device,
                   Queue& queue) {
  if (a.rows == 0) return;
  const NormCut cut = cut_rows<T>(a.rows, a.C, device);
  a.width = dbias != nullptr ? 2 * a.C : a.C;
  a.partials = reinterpret_cast<float*>(
      reduction_scratch(queue, cut.blocks * a.width * std::int64_t{sizeof(float)}));

  const cudaStream_t stream = stream_of(queue);
  if (!fits || a.C % kVec<T> != 0 || a.C > kWideThreads * kColumnsPerThread<true>)
    norm_backward_strided_kernel<T, kCentred>
        <<<cut.blocks, kStridedThreads, 0, stream>>>(a, cut.batch);
  else if (cut.wide)
    norm_backward_kernel<T, kCentred, true><<<cut.blocks, cut.threads, 0, stream>>>(a);
  else
    norm_backward_kernel<T, kCentred, false><<<cut.blocks, cut.threads, 0, stream>>>(a);
  TWILL_CUDA_CHECK_LAUNCH();
  add_partials(a.partials, cut.blocks, a.width,
               {.first = dweight, .second = dbias, .split = a.C, .accumulate = true}, queue);
}

}  // namespace twill::cuda
