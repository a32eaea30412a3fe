// SPDX-License-Identifier: Apache-2.0
// V:2:M selection of blocks too large for shared memory: a warp per block and window. A lane scores
// every 32nd column and remembers its four best; the warp then names the best of the lanes' bests,
// four times.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/selection/venom_grid.cuh"

namespace twill::cuda {

inline constexpr int kWideWarps = 4;

// A score, 31 bits, above the complement of a position, 33 bits: the larger key is the better
// column. No column has key 0.
__device__ __forceinline__ std::uint64_t venom_key(float score, std::int64_t position) {
  constexpr std::uint64_t kPositions = (std::uint64_t{1} << 33) - 1;
  return std::uint64_t{__float_as_uint(score)} << 33 |
         (kPositions - static_cast<std::uint64_t>(position));
}
__device__ __forceinline__ std::int64_t venom_position(std::uint64_t key) {
  constexpr std::uint64_t kPositions = (std::uint64_t{1} << 33) - 1;
  return static_cast<std::int64_t>(kPositions - (key & kPositions));
}

__device__ __forceinline__ std::uint64_t warp_max_key(std::uint64_t key) {
#pragma unroll
  for (int lane = kWarp / 2; lane > 0; lane /= 2) {
    const auto other = static_cast<std::uint64_t>(
        __shfl_xor_sync(0xffff'ffffu, static_cast<unsigned long long>(key), lane));
    key = max(key, other);
  }
  return key;
}

// The positions of the `count` best columns in ascending order; the same for all lanes.
template <class Bits, bool kWithinRow>
__device__ __forceinline__ void best_columns(const Bits* x, const VenomGrid& grid, std::int64_t p0,
                                             std::int64_t p1, std::int64_t q0, std::int64_t q1,
                                             int count, std::int64_t (&columns)[4]) {
  std::uint64_t best[4] = {};
  for (std::int64_t q = q0 + threadIdx.x % kWarp; q < q1; q += kWarp) {
    float score = 0.0f;
#pragma unroll 4
    for (std::int64_t p = p0; p < p1; ++p)
      score = __fadd_rn(score, venom_value(venom_size(x[grid.template index<kWithinRow>(p, q)])));
    std::uint64_t key = venom_key(score, q - q0);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const std::uint64_t worse = min(best[k], key);
      best[k] = max(best[k], key);
      key = worse;
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const std::uint64_t top = warp_max_key(best[0]);
    if (best[0] == top) best[0] = best[1], best[1] = best[2], best[2] = best[3], best[3] = 0;
    columns[k] = k < count ? q0 + venom_position(top) : q1;
  }
#pragma unroll
  for (int end = 3; end > 0; --end) {
#pragma unroll
    for (int k = 0; k < end; ++k) {
      const std::int64_t low = min(columns[k], columns[k + 1]);
      columns[k + 1] = max(columns[k], columns[k + 1]);
      columns[k] = low;
    }
  }
}

template <class Bits, bool kWithinRow>
__global__ __launch_bounds__(kWideWarps* kWarp) void venom_wide_kernel(
    const Bits* __restrict__ x, std::uint8_t* __restrict__ mask, VenomGrid grid,
    bool flags_survivors) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t item = std::int64_t{blockIdx.x} * kWideWarps + threadIdx.x / kWarp;
  const Division place = divide(item, (grid.Q + grid.m - 1) / grid.m);
  const std::int64_t p0 = place.quotient * grid.v, q0 = place.rest * grid.m;
  if (p0 >= grid.P) return;
  const std::int64_t p1 = min(p0 + grid.v, grid.P), q1 = min(q0 + grid.m, grid.Q);
  const int count = static_cast<int>(min(q1 - q0, std::int64_t{4}));
  std::int64_t columns[4];
  best_columns<Bits, kWithinRow>(x, grid, p0, p1, q0, q1, count, columns);

  const unsigned survives = flags_survivors ? kSurvivesFlag : 0u;
  for (std::int64_t p = p0; p < p1; ++p)
    for (std::int64_t q = q0 + lane; q < q1; q += kWarp) {
      const bool is_survivor =
          q == columns[0] || q == columns[1] || q == columns[2] || q == columns[3];
      mask[grid.template index<kWithinRow>(p, q)] =
          static_cast<std::uint8_t>(is_survivor ? survives : 0u);
    }
  __syncwarp();  // what is kept is written over it, by other lanes
  for (std::int64_t p = p0 + lane; p < p1; p += kWarp) {
    VenomPair<std::int64_t> pair;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k >= count) continue;
      const std::int64_t i = grid.template index<kWithinRow>(p, columns[k]);
      pair.see(venom_size(x[i]), i);
    }
    const auto kept = static_cast<std::uint8_t>(survives | kKeptFlag);
    if (pair.first_size > 0) mask[pair.first] = kept;
    if (pair.second_size > 0) mask[pair.second] = kept;
  }
}

}  // namespace twill::cuda
