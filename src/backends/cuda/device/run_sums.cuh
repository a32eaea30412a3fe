// SPDX-License-Identifier: Apache-2.0
// Sums in f64 whose order is part of a contract: runs of 256 elements in index order, then the runs
// in index order. All terms are positive or zero, or not finite.
//
// First stage: a thread adds one run. Slices of 32 elements of 64 runs come through shared memory,
// so that a warp reads 128 neighbouring bytes, whatever their alignment.
//
// Second stage: a warp per sum takes 256 runs at a time. While the total T stays between two powers
// of two, all totals are multiples of its last place u, and T + s rounds to T + r with r = s
// rounded to a multiple of u, except where s lies exactly half-way (then T's parity decides). The r
// have no order: multiples of u below 2^53 u add exactly. So eight additions per lane and a sum
// over the warp stand for 256 in a row (by count 250 cycles in place of 2,000); a chunk that ties,
// leaves the powers of two or is not finite is added one by one.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"

namespace twill::cuda {

inline constexpr int kRun = 256;
inline constexpr int kRunThreads = 64;  // runs of a block: 625 blocks at 6400 x 1600
inline constexpr int kSlice = kWarp;

// Terms has a type Item, `Item load(i)` for element i, and `add(item, sums)`.
// partials (kSums, runs).
template <int kSums, class Terms>
__global__ __launch_bounds__(kRunThreads) void run_sums_kernel(Terms terms, std::int64_t count,
                                                               std::int64_t runs,
                                                               double* __restrict__ partials) {
  __shared__ typename Terms::Item tile[kRunThreads][kSlice + 1];  // a column is free of conflicts
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const std::int64_t first_run = std::int64_t{blockIdx.x} * kRunThreads;
  const std::int64_t my_run = first_run + thread;

  double sums[kSums] = {};
  for (int slice = 0; slice < kRun; slice += kSlice) {
#pragma unroll 16
    for (int run = thread / kWarp; run < kRunThreads; run += kRunThreads / kWarp) {
      const std::int64_t i = (first_run + run) * kRun + slice + lane;
      if (i < count) tile[run][lane] = terms.load(i);
    }
    __syncthreads();
    const std::int64_t left = count - (my_run * kRun + slice);
    if (left >= kSlice) {
#pragma unroll 8
      for (int i = 0; i < kSlice; ++i) terms.add(tile[thread][i], sums);
    } else {
      for (int i = 0; i < left; ++i) terms.add(tile[thread][i], sums);
    }
    __syncthreads();
  }
  if (my_run >= runs) return;
#pragma unroll
  for (int k = 0; k < kSums; ++k) partials[k * runs + my_run] = sums[k];
}

inline constexpr int kRunsPerLane = 8;
inline constexpr int kChunk = kRunsPerLane * kWarp;

// total + all terms in a row: term j of a lane is the chunk's number 32 j + lane.
__device__ __forceinline__ double add_one_by_one(double total,
                                                 const double (&terms)[kRunsPerLane]) {
#pragma unroll
  for (int j = 0; j < kRunsPerLane; ++j) {
#pragma unroll 8
    for (int lane = 0; lane < kWarp; ++lane)
      total = __dadd_rn(total, __shfl_sync(0xffff'ffffu, terms[j], lane));
  }
  return total;
}

__device__ __forceinline__ double add_chunk(double total, const double (&terms)[kRunsPerLane]) {
  const int exponent = __double2hiint(total) >> 20;  // with its bias; a sign makes it negative
  // Totals so small that half of u is no normal number, and zero, go one by one.
  if (exponent <= 64 || exponent >= 2046) return add_one_by_one(total, terms);
  const double limit = __hiloint2double((exponent + 1) << 20, 0);
  const double half_place = __hiloint2double((exponent - 53) << 20, 0);
  double moves = 0.0;
  bool ties = false;
#pragma unroll
  for (int j = 0; j < kRunsPerLane; ++j) {
    const double move = __dsub_rn(__dadd_rn(total, terms[j]), total);
    ties = ties || fabs(__dsub_rn(terms[j], move)) == half_place;
    moves = __dadd_rn(moves, move);
  }
  // A sum of positive numbers that leaves the range of exact ones also passes the limit.
  const double sum = __dadd_rn(total, warp_sum(moves));
  if (__any_sync(0xffff'ffffu, ties || !(sum < limit))) return add_one_by_one(total, terms);
  return sum;
}

// sums[k] = the k-th row of partials (kSums, runs), in order. One block.
template <int kSums>
__global__ __launch_bounds__(kSums* kWarp) void add_runs_kernel(const double* __restrict__ partials,
                                                                std::int64_t runs, double* sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, k = static_cast<int>(threadIdx.x) / kWarp;
  const double* mine = partials + k * runs;
  // What lies behind the end adds +0.
  const auto load = [&](std::int64_t begin, double(&terms)[kRunsPerLane]) {
#pragma unroll
    for (int j = 0; j < kRunsPerLane; ++j) {
      const std::int64_t run = begin + j * kWarp + lane;
      terms[j] = run < runs ? mine[run] : 0.0;
    }
  };
  double total = 0.0, terms[kRunsPerLane], next[kRunsPerLane];
  load(0, next);
  for (std::int64_t begin = 0; begin < runs; begin += kChunk) {
#pragma unroll
    for (int j = 0; j < kRunsPerLane; ++j) terms[j] = next[j];
    load(begin + kChunk, next);  // on its way while this chunk is added
    total = add_chunk(total, terms);
  }
  if (lane == 0) sums[k] = total;
}

}  // namespace twill::cuda
