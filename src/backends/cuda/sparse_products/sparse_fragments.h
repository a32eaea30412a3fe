// SPDX-License-Identifier: Apache-2.0
// How a block of the mma.sp product (sparse_product_sm80.cu) keeps its operands in shared memory, and
// what every lane of a warp reads of them: plain functions of the lane, so that a test can hold them
// against the instruction's fragments without a GPU (tests/backends/sparse_fragments_test.cpp).
//
// Tiles hold rows of `pieces`, eight bf16 or 16 bytes each: what a copy moves, and a row of the 8 x 8
// matrices that ldmatrix reads. Which way a tile lies follows from the matrix in memory:
//
//             A, 2:4 values                        B
//   kSum...   128 rows of M, 4 pieces along K      128 rows of N, 8 pieces along K
//   kWeight.. 32 rows along K, 16 pieces of M      64 rows along K, 16 pieces of N; both transposed
//                                                  when they are read
//
// Positions lie as in packed_layout.h: a warp has the 64 rows of an atom, and its registers are the
// atom's words as they are.
#pragma once

#include <cstdint>

namespace twill::cuda {

inline constexpr int kTileM = 128, kTileN = 128;
inline constexpr int kTileK = 64;               // entries: the atom's
inline constexpr int kTileValues = kTileK / 2;  // of a row of A
inline constexpr int kWarpM = 64, kWarpN = 64;  // so four warps
inline constexpr int kPiece = 8, kPieceBytes = 16;
inline constexpr int kLanes = 32;
// Of the instruction: 16 rows of A, 8 columns of B, 32 entries along K, 16 of them stored.
inline constexpr int kMmaM = 16, kMmaN = 8, kMmaK = 32, kMmaValues = 16;

// Where a piece lies in a tile of `row_pieces` per row. Eight neighbouring rows have the same piece in
// eight different places modulo 128 bytes, the width of the banks: ldmatrix reads them in one go.
constexpr int piece_byte(int row_pieces, int row, int piece) {
  if (row_pieces == 4)  // two rows are 128 bytes
    return row / 2 * 128 + (row % 2 * 4 + (piece ^ row / 2 % 4)) * kPieceBytes;
  return (row * row_pieces + (piece ^ row % 8)) * kPieceBytes;
}

// A tile's rows and the pieces of each.
struct TileShape {
  int rows, row_pieces;
  constexpr int num_pieces() const { return rows * row_pieces; }
  constexpr int num_bytes() const { return num_pieces() * kPieceBytes; }
};
constexpr TileShape tile_of_a(bool along_k) {
  return along_k ? TileShape{kTileM, kTileValues / kPiece}
                 : TileShape{kTileValues, kTileM / kPiece};
}
constexpr TileShape tile_of_b(bool along_k) {
  return along_k ? TileShape{kTileN, kTileK / kPiece} : TileShape{kTileK, kTileN / kPiece};
}

// The byte of tile A that this lane hands to ldmatrix.x4 for rows m to m + 15 and values s to s + 15;
// `along_k` reads as it lies, otherwise transposed.
constexpr int byte_of_a(bool along_k, int lane, int m, int s) {
  const int pieces = tile_of_a(along_k).row_pieces;
  if (along_k) return piece_byte(pieces, m + lane % 16, s / kPiece + lane / 16);
  return piece_byte(pieces, s + lane % 8 + lane / 16 * 8, m / kPiece + lane / 8 % 2);
}

// The same of tile B for columns n to n + 7 and entries k to k + 31.
constexpr int byte_of_b(bool along_k, int lane, int n, int k) {
  const int pieces = tile_of_b(along_k).row_pieces;
  if (along_k) return piece_byte(pieces, n + lane % 8, k / kPiece + lane / 8);
  return piece_byte(pieces, k + lane, n / kPiece);
}

// The byte in an atom of the eight that this lane holds of the rows from 32 `pair` on: two registers,
// for entries 0 to 31 and 32 to 63. Of four lanes the first two serve rows 0 to 15, where the
// instruction's selector is 0, the others rows 16 to 31 with selector 1.
constexpr int byte_of_positions(int lane, int pair) {
  const int slab = 2 * pair + lane % 4 / 2;
  return 4 * (32 * slab + 16 * (lane % 2) + 2 * (lane / 4));
}

// Tiles of D in the order in which blocks compute them: along one side, in bands of `swizzle` tiles
// across, so that neighbours share operands in L2.
struct TilePlace {
  int m, n;
};
constexpr TilePlace tile_place(int index, int tiles_m, int tiles_n, bool along_n, int swizzle) {
  const int along = along_n ? tiles_n : tiles_m, across = along_n ? tiles_m : tiles_n;
  const int band = index / (swizzle * along), rest = index % (swizzle * along);
  const int left = across - band * swizzle, width = left < swizzle ? left : swizzle;
  const int a = rest / width, c = band * swizzle + rest % width;
  return along_n ? TilePlace{c, a} : TilePlace{a, c};
}

// Into how many parts K is cut where D has few tiles: the number that ends first when `slots` blocks
// run at once. Partial sums of a tile make a way through L2 that takes as long as kWayOfSums steps
// along K; all of them together stay below kWavesOfParts tiles for every slot, 42 MB on an A100. A
// part has at least kLeastSteps, or it is done before its copies flow.
inline constexpr int kWayOfSums = 12, kWavesOfParts = 3, kLeastSteps = 4;
constexpr int parts_of_k(std::int64_t tiles, std::int64_t steps, std::int64_t slots) {
  std::int64_t best = 1, least = (tiles + slots - 1) / slots * steps;
  for (std::int64_t parts = 2;
       parts * kLeastSteps <= steps && parts * tiles <= kWavesOfParts * slots; ++parts) {
    const std::int64_t waves = (tiles * parts + slots - 1) / slots;
    const std::int64_t time = waves * ((steps + parts - 1) / parts + kWayOfSums);
    if (time < least) {
      least = time;
      best = parts;
    }
  }
  return static_cast<int>(best);
}

}  // namespace twill::cuda
