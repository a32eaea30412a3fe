// SPDX-License-Identifier: Apache-2.0
// V:2:M selection of one tile: whole blocks of the pattern, brought into shared memory once. A
// thread adds a column's score in order and ranks it in its window; a thread per row and window
// then keeps two of the four survivors and marks them in the bit where their sign was.
//
// The tile lies as x does, whichever way the pattern runs, so that lines are read and masks written
// whole. Its lines are an odd number of 32-bit words long: threads on neighbouring lines use
// different banks.
#pragma once

#include <cstdint>

#include "backends/cuda/device/row.cuh"
#include "backends/cuda/device/selection/venom_grid.cuh"

namespace twill::cuda {

inline constexpr int kVenomThreads = 256;

struct VenomTile {
  int p, q;  // rows and columns of the pattern: multiples of v and m
  int line;  // elements of a line in shared memory
};

// What a block holds of a tile beside its elements: per block of the pattern and column the score
// and whether it survives, per window the survivors in order.
struct VenomShared {
  float* scores;
  std::uint16_t* survivors;
  std::uint8_t* survives;
};

// Elements of the tile, in lines as in x. body(line, element in the line, index in x) for each
// thread's part: kN neighbours at once where kWhole.
template <class Bits, bool kWhole, class Body>
__device__ __forceinline__ void for_tile(const VenomGrid& grid, std::int64_t first_row,
                                         std::int64_t first_column, int lines, int width,
                                         const Body& body) {
  constexpr int kN = kWhole ? 16 / static_cast<int>(sizeof(Bits)) : 1;
  const int pieces = width / kN;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < lines * pieces; i += kVenomThreads) {
    const int line = i / pieces, element = (i - line * pieces) * kN;
    const std::int64_t row = grid.row(first_row + line);
    const std::int64_t column =
        kWhole ? first_column + element : grid.column(first_column + element);
    body(line, element, row * grid.cols + column);
  }
}

// kWhole: columns in order, lines and operands fit 16-byte accesses.
template <class Bits, bool kWithinRow, bool kWhole>
__global__ __launch_bounds__(kVenomThreads) void venom_tile_kernel(const Bits* __restrict__ x,
                                                                   std::uint8_t* __restrict__ mask,
                                                                   VenomGrid grid, VenomTile tile,
                                                                   bool flags_survivors) {
  constexpr Bits kMark = static_cast<Bits>(1u << (8 * sizeof(Bits) - 1));
  extern __shared__ uint4 shared[];
  const int v = static_cast<int>(grid.v), m = static_cast<int>(grid.m);
  const Division place = divide(blockIdx.x, (grid.Q + tile.q - 1) / tile.q);
  const std::int64_t p0 = place.quotient * tile.p, q0 = place.rest * tile.q;
  const int num_p = static_cast<int>(min(grid.P - p0, std::int64_t{tile.p}));
  const int num_q = static_cast<int>(min(grid.Q - q0, std::int64_t{tile.q}));
  const int blocks = (num_p + v - 1) / v, windows = (num_q + m - 1) / m;
  const int lines = kWithinRow ? num_p : num_q, width = kWithinRow ? num_q : num_p;
  const std::int64_t first_row = kWithinRow ? p0 : q0, first_column = kWithinRow ? q0 : p0;

  auto* const elements = reinterpret_cast<Bits*>(shared);
  const int columns = tile.p / v * tile.q;  // with a score each
  VenomShared held;
  held.scores = reinterpret_cast<float*>(elements + (kWithinRow ? tile.p : tile.q) * tile.line);
  held.survivors = reinterpret_cast<std::uint16_t*>(held.scores + columns);
  held.survives = reinterpret_cast<std::uint8_t*>(held.survivors + columns / m * 4);
  const auto at = [&](int p, int q) -> Bits& {
    return elements[kWithinRow ? p * tile.line + q : q * tile.line + p];
  };

  for_tile<Bits, kWhole>(
      grid, first_row, first_column, lines, width, [&](int line, int element, std::int64_t i) {
        Bits* const to = elements + line * tile.line + element;
        if constexpr (!kWhole) {
          *to = venom_size(x[i]);
        } else {
          const uint4 bits = load16_constant(x + i);
          const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
          for (int w = 0; w < 4; ++w) {
            if constexpr (sizeof(Bits) == 4)
              to[w] = venom_size(words[w]);
            else
              reinterpret_cast<unsigned*>(to)[w] = __vminu2(words[w] & 0x7fff'7fffu, 0x7f80'7f80u);
          }
        }
      });
  __syncthreads();

  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < blocks * num_q; i += kVenomThreads) {
    const int block = i / num_q, q = i - block * num_q;
    const int end = min((block + 1) * v, num_p);
    float sum = 0.0f;
#pragma unroll 8
    for (int p = block * v; p < end; ++p) sum = __fadd_rn(sum, venom_value(at(p, q)));
    held.scores[block * tile.q + q] = sum;
  }
  __syncthreads();
  for (int i = thread; i < blocks * num_q; i += kVenomThreads) {
    const int block = i / num_q, q = i - block * num_q, begin = q / m * m;
    const float* scores = held.scores + block * tile.q;
    const float own = scores[q];
    int better = 0;
    for (int other = begin; other < min(begin + m, num_q); ++other)
      better += scores[other] > own || (scores[other] == own && other < q) ? 1 : 0;
    held.survives[block * tile.q + q] = better < 4 ? 1 : 0;
  }
  __syncthreads();
  for (int i = thread; i < blocks * num_q; i += kVenomThreads) {
    const int block = i / num_q, q = i - block * num_q, window = q / m;
    const std::uint8_t* survives = held.survives + block * tile.q;
    if (survives[q] == 0) continue;
    int before = 0;
    for (int other = window * m; other < q; ++other) before += survives[other];
    held.survivors[(block * (tile.q / m) + window) * 4 + before] = static_cast<std::uint16_t>(q);
  }
  __syncthreads();
  for (int i = thread; i < num_p * windows; i += kVenomThreads) {
    const int window = i / num_p, p = i - window * num_p;
    const std::uint16_t* survivors = held.survivors + (p / v * (tile.q / m) + window) * 4;
    const int count = min(min(4, m), num_q - window * m);
    VenomPair<int> pair;
    for (int k = 0; k < count; ++k) pair.see(at(p, survivors[k]), survivors[k]);
    if (pair.first_size > 0) at(p, pair.first) |= kMark;
    if (pair.second_size > 0) at(p, pair.second) |= kMark;
  }
  __syncthreads();

  const auto flags_of = [&](int line, int element) {
    const int p = kWithinRow ? line : element, q = kWithinRow ? element : line;
    const unsigned kept = at(p, q) >= kMark ? kKeptFlag : 0u;
    if (!flags_survivors) return kept;
    return kept | (held.survives[p / v * tile.q + q] != 0 ? kSurvivesFlag : 0u);
  };
  for_tile<Bits, kWhole>(
      grid, first_row, first_column, lines, width, [&](int line, int element, std::int64_t i) {
        if constexpr (!kWhole) {
          mask[i] = static_cast<std::uint8_t>(flags_of(line, element));
        } else {
          constexpr int kN = 16 / static_cast<int>(sizeof(Bits));
          Pack<unsigned, kN / 4> bytes = {};
          if (flags_survivors) {
#pragma unroll
            for (int k = 0; k < kN; ++k)
              bytes.at[k / 4] |= flags_of(line, element + k) << (8 * (k % 4));
          } else {
            // The marks of one or two elements of a word, from where the signs were to bytes.
            const auto* words =
                reinterpret_cast<const unsigned*>(elements + line * tile.line + element);
#pragma unroll
            for (int w = 0; w < 4; ++w) {
              if constexpr (sizeof(Bits) == 4)
                bytes.at[0] |= words[w] >> 31 << (8 * w);
              else
                bytes.at[w / 2] |= ((words[w] >> 15 & 1u) | words[w] >> 31 << 8) << (16 * (w % 2));
            }
          }
          *reinterpret_cast<Pack<unsigned, kN / 4>*>(mask + i) = bytes;
        }
      });
}

}  // namespace twill::cuda
