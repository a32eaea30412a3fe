// SPDX-License-Identifier: Apache-2.0
// Tokens sorted by a small number each, their route, equal ones in their order: passes over digits
// of eight bits from the lowest on, each stable. A pass counts the digits of every chunk of tokens
// (count_routes_kernel), sums the counts over digits and chunks (exclusive_scan_kernel) and puts
// every token where it belongs (place_tokens_kernel). Up to 256 routes need one pass.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"

namespace twill::cuda {

inline constexpr int kSortThreads = 256;
inline constexpr int kSortDigits = 256;  // a thread each
inline constexpr int kSortChunk = 1024;  // tokens

struct SortPass {
  const std::int32_t* routes;  // of tokens
  const std::int32_t* tokens;  // in the order so far; nullptr: as they come
  std::int64_t count;
  int shift;

  __device__ __forceinline__ std::int32_t token(std::int64_t place) const {
    return tokens != nullptr ? tokens[place] : static_cast<std::int32_t>(place);
  }
  __device__ __forceinline__ int digit(std::int32_t token) const {
    return routes[token] >> shift & (kSortDigits - 1);
  }
};

// counts[digit, chunk], a block per chunk.
static __global__ __launch_bounds__(kSortThreads) void count_routes_kernel(SortPass pass,
                                                                           std::int32_t* counts) {
  __shared__ int digits[kSortDigits];
  const int thread = static_cast<int>(threadIdx.x);
  digits[thread] = 0;
  __syncthreads();
  for (int k = thread; k < kSortChunk; k += kSortThreads) {
    const std::int64_t place = std::int64_t{blockIdx.x} * kSortChunk + k;
    if (place < pass.count) atomicAdd(&digits[pass.digit(pass.token(place))], 1);
  }
  __syncthreads();
  counts[std::int64_t{thread} * gridDim.x + blockIdx.x] = digits[thread];
}

// counts[digit, chunk] is now the place of the chunk's first token with the digit.
static __global__ __launch_bounds__(kSortThreads) void place_tokens_kernel(
    SortPass pass, const std::int32_t* counts, std::int32_t* sorted) {
  constexpr int kWarps = kSortThreads / kWarp;
  __shared__ int next[kSortDigits];            // place of the next token with the digit
  __shared__ int places[kWarps][kSortDigits];  // first counts, then the same for every warp
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  next[thread] = counts[std::int64_t{thread} * gridDim.x + blockIdx.x];
  for (int begin = 0; begin < kSortChunk; begin += kSortThreads) {
    const std::int64_t place = std::int64_t{blockIdx.x} * kSortChunk + begin + thread;
    const bool is_there = place < pass.count;
    const std::int32_t token = is_there ? pass.token(place) : 0;
    const int digit = is_there ? pass.digit(token) : kSortDigits;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) places[w][thread] = 0;
    __syncthreads();
    const unsigned equals = __match_any_sync(0xffff'ffffu, digit);
    const int before = __popc(equals & ((1u << lane) - 1));
    if (is_there && before == 0) places[warp][digit] = __popc(equals);
    __syncthreads();
    int running = next[thread];
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const int own = places[w][thread];
      places[w][thread] = running;
      running += own;
    }
    next[thread] = running;
    __syncthreads();
    if (is_there) sorted[places[warp][digit] + before] = token;
    __syncthreads();
  }
}

}  // namespace twill::cuda
