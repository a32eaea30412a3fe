// SPDX-License-Identifier: Apache-2.0
// pack24 and unpack24 of a transposed matrix, one block per tile of 64 x 64. Packed rows are dense
// columns: on the dense side a thread has a group, four dense rows, in four columns, and 16 threads
// 64 neighbouring columns; on the packed side a warp has one packed row of f32 values (128 bytes)
// or two of bf16 (64 bytes each). In between, the packed rows lie in shared memory (9.3 KB).
#pragma once

#include <cstdint>

#include "backends/cuda/device/packing/pack24.cuh"

namespace twill::cuda {

inline constexpr int kTile = 64;  // dense rows, and dense columns
inline constexpr int kTileGroups = kTile / 4;
inline constexpr int kTileThreads = kTileGroups * kTile / 4;  // a group in four columns each

// The packed rows of a tile. Values stand in words: a pair of bf16 is one.
template <class Value>
struct PackedTile {
  static constexpr int kPairWords = static_cast<int>(sizeof(Value)) / 2;
  static constexpr int kRowWords = kTileGroups * kPairWords;

  unsigned words[kTile][kRowWords + 1];  // an odd stride spreads a column over the banks
  std::uint8_t codes[kTile][kTileGroups + 1];

  __device__ __forceinline__ void put(int row, int group, const PackedGroup& packed) {
    unsigned* to = &words[row][group * kPairWords];
    if constexpr (kPairWords == 2)
      to[0] = packed.values[0], to[1] = packed.values[1];
    else
      to[0] = packed.values[0] | packed.values[1] << 16;
    codes[row][group] = static_cast<std::uint8_t>(packed.code);
  }

  __device__ __forceinline__ PackedGroup get(int row, int group) const {
    const unsigned* from = &words[row][group * kPairWords];
    const unsigned code = codes[row][group];
    if constexpr (kPairWords == 2)
      return {{from[0], from[1]}, code};
    else
      return {{from[0] & 0xffffu, from[0] >> 16}, code};
  }
};

// Where the block's tile and the thread's group lie.
struct TilePlace {
  std::int64_t row, col;  // of the tile, in the packed matrix
  int group, quad;        // of the thread: four packed columns, four packed rows

  __device__ __forceinline__ explicit TilePlace(std::int64_t cols) {
    const std::int64_t tiles = (cols + kTile - 1) / kTile;
    const Division place = divide(blockIdx.x, tiles);
    row = place.quotient * kTile;
    col = place.rest * kTile;
    group = static_cast<int>(threadIdx.x) / kTileGroups;
    quad = static_cast<int>(threadIdx.x) % kTileGroups;
  }
};

// Calls body(packed row of the tile, word of it, element of the values) for all words inside.
template <class Value, class Body>
__device__ __forceinline__ void for_each_word(const TilePlace& place, std::int64_t rows,
                                              std::int64_t cols, const Body& body) {
  using Tile = PackedTile<Value>;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * Tile::kRowWords; i += kTileThreads) {
    const int row = i / Tile::kRowWords, word = i % Tile::kRowWords;
    if (place.row + row >= rows || place.col / 4 + word / Tile::kPairWords >= cols / 4) continue;
    const std::int64_t first = (place.row + row) * (cols / 2) + place.col / 2;
    body(row, word, first + word * (2 / Tile::kPairWords));
  }
}

// Calls body(packed row of the tile, byte of it, byte of the nibbles, whether it is whole).
template <class Body>
__device__ __forceinline__ void for_each_byte(const TilePlace& place, std::int64_t rows,
                                              std::int64_t cols, const Body& body) {
  const std::int64_t row_bytes = (cols + 7) / 8;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kTile / 8; i += kTileThreads) {
    const int row = i / (kTile / 8), byte = i % (kTile / 8);
    const std::int64_t in_row = place.col / 8 + byte;
    if (place.row + row >= rows || in_row >= row_bytes) continue;
    body(row, byte, (place.row + row) * row_bytes + in_row, 2 * in_row + 1 < cols / 4);
  }
}

template <class Dense, class Value, bool kWhole>
__global__ __launch_bounds__(kTileThreads) void pack_tile_kernel(Packing<Dense, Value> a) {
  __shared__ PackedTile<Value> tile;
  const TilePlace place(a.cols);
  const std::int64_t row = place.row + 4 * place.quad, col = place.col + 4 * place.group;
  if (col < a.cols && row < a.rows) {
    unsigned in[4][4] = {};  // dense rows, of which the packed rows behind the end are zero
    bool kept[4][4] = {};
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const std::int64_t at = (col + r) * a.rows + row;
      if constexpr (kWhole) {
        read_bits<true>(a.dense + at, in[r]);
        read_flags<true>(a.mask + at, kept[r]);
      } else {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          if (row + c >= a.rows) continue;
          in[r][c] = bits_of(a.dense[at + c]);
          kept[r][c] = a.mask[at + c] != 0;
        }
      }
    }
#pragma unroll
    for (int c = 0; c < 4; ++c)
      tile.put(4 * place.quad + c, place.group,
               pack_group<Dense, Value>({in[0][c], in[1][c], in[2][c], in[3][c]},
                                        {kept[0][c], kept[1][c], kept[2][c], kept[3][c]}));
  }
  __syncthreads();

  for_each_word<Value>(place, a.rows, a.cols, [&](int r, int word, std::int64_t at) {
    const unsigned bits = tile.words[r][word];
    if constexpr (sizeof(Value) == 4) {
      a.values[at] = __uint_as_float(bits);
    } else if constexpr (kWhole) {
      *reinterpret_cast<unsigned*>(a.values + at) = bits;  // pairs of a row of whole pairs
    } else {
      a.values[at] = element_of<Value>(bits & 0xffffu);
      a.values[at + 1] = element_of<Value>(bits >> 16);
    }
  });
  for_each_byte(place, a.rows, a.cols, [&](int r, int byte, std::int64_t at, bool whole) {
    const unsigned low = tile.codes[r][2 * byte];
    const unsigned high = whole ? tile.codes[r][2 * byte + 1] : 0u;
    a.nibbles[at] = static_cast<std::uint8_t>(low | high << 4);
  });
}

template <class T, bool kWhole>
__global__ __launch_bounds__(kTileThreads) void unpack_tile_kernel(Unpacking<T> a) {
  __shared__ PackedTile<T> tile;
  const TilePlace place(a.cols);
  for_each_word<T>(place, a.rows, a.cols, [&](int r, int word, std::int64_t at) {
    if constexpr (sizeof(T) == 4)
      tile.words[r][word] = __float_as_uint(a.values[at]);
    else if constexpr (kWhole)
      tile.words[r][word] = *reinterpret_cast<const unsigned*>(a.values + at);
    else
      tile.words[r][word] = bits_of(a.values[at]) | bits_of(a.values[at + 1]) << 16;
  });
  for_each_byte(place, a.rows, a.cols, [&](int r, int byte, std::int64_t at, bool) {
    const std::uint8_t codes = a.nibbles[at];
    tile.codes[r][2 * byte] = codes & 0xfu;
    tile.codes[r][2 * byte + 1] = codes >> 4;
  });
  __syncthreads();

  const std::int64_t row = place.row + 4 * place.quad, col = place.col + 4 * place.group;
  if (col >= a.cols || row >= a.rows) return;
  PackedGroup packed[4] = {};
#pragma unroll
  for (int c = 0; c < 4; ++c)
    if (row + c < a.rows) packed[c] = tile.get(4 * place.quad + c, place.group);
#pragma unroll
  for (unsigned r = 0; r < 4; ++r) {
    unsigned out[4];
#pragma unroll
    for (int c = 0; c < 4; ++c)
      out[c] = unpacked(packed[c].values[0], packed[c].values[1], packed[c].code, r);
    T* to = a.dense + (col + r) * a.rows + row;
    if constexpr (kWhole) {
      write_bits<true>(to, out);
    } else {
#pragma unroll
      for (int c = 0; c < 4; ++c)
        if (row + c < a.rows) to[c] = element_of<T>(out[c]);
    }
  }
}

}  // namespace twill::cuda
