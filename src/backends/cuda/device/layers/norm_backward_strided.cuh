// SPDX-License-Identifier: Apache-2.0
// The strided path of device/norm_backward.cuh: any row length and alignment. Grid (blocks, teams)
// of the staged path's cut; block (b, t) takes the rows of team t of block b, and its sums per
// column wait in its row of the partials. add_team_partials_kernel then adds the teams of a block.
#pragma once

#include "backends/cuda/device/layers/norm_backward.cuh"

namespace twill::cuda {

template <class T, bool kCentred>
__global__ __launch_bounds__(kStridedThreads) void norm_backward_strided_kernel(NormBackward<T> a) {
  const float per_column = 1.0f / static_cast<float>(a.C);
  const std::int64_t begin = std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * gridDim.y;
  float* sums = a.partials + begin * kNormSums<kCentred> * a.C;
  if (begin >= a.rows)  // more teams than rows
    for (std::int64_t i = threadIdx.x; i < kNormSums<kCentred> * a.C; i += kStridedThreads)
      sums[i] = 0.0f;
  for (std::int64_t row = begin; row < a.rows; row += step) {
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
      const T stored = from_f32<T>(added_to + rstd * (g - mean_g - n * mean_gn));
      dx[c] = stored;
      const auto held = [&](int kind) { return row == begin ? 0.0f : sums[kind * a.C + c]; };
      sums[kDWeight * a.C + c] = fmaf(dy_c, n, held(kDWeight));
      sums[kDxSum * a.C + c] = held(kDxSum) + to_f32(stored);
      if constexpr (kCentred) sums[kDBias * a.C + c] = held(kDBias) + dy_c;
    }
  }
}

// partials (teams, size): rows 1, 2, … are added to row 0 in this order.
template <int kThreads>
__global__ __launch_bounds__(kThreads) void add_team_partials_kernel(float* partials, int teams,
                                                                     std::int64_t size) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < size; i += stride) {
    float sum = partials[i];
    for (int team = 1; team < teams; ++team) sum += partials[team * size + i];
    partials[i] = sum;
  }
}

}  // namespace twill::cuda
