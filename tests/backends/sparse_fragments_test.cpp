// SPDX-License-Identifier: Apache-2.0
// What lanes read of tiles against the fragments of ldmatrix and mma.sp.m16n8k32, as NVIDIA's PTX ISA
// tells them, and the product of a tile out of them against a plain one. Numbers stand for bf16.
#include "backends/cuda/sparse_products/sparse_fragments.h"

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cuda/packing/packed_layout.h"
#include "ops/products/packed24_problem.h"
#include "support/seeds.h"

namespace twill::cuda {
namespace {

using Number = std::int16_t;
using Bytes = std::vector<unsigned char>;
template <class T>
using OfLanes = std::array<T, kLanes>;
using Eight = std::array<Number, 8>;  // of a lane: four registers

template <class T>
T read_at(const Bytes& bytes, int at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Lane i of eight points to row i mod 8 of matrix i / 8. Register r is of matrix r.
OfLanes<Eight> emulated_ldmatrix(const Bytes& tile, const OfLanes<int>& rows, bool transposed) {
  OfLanes<Eight> got{};
  for (int lane = 0; lane < kLanes; ++lane)
    for (int matrix = 0; matrix < 4; ++matrix)
      for (int half = 0; half < 2; ++half) {
        const int outer = lane / 4, inner = lane % 4 * 2 + half;
        const int row = transposed ? inner : outer, col = transposed ? outer : inner;
        got[index(lane)][index(2 * matrix + half)] =
            read_at<Number>(tile, rows[index(8 * matrix + row)] + 2 * col);
      }
  return got;
}

// d (16, 8) += A B, with A's positions from two of every four lanes.
void emulated_mma(std::array<double, 128>& d, const OfLanes<Eight>& a, const OfLanes<Eight>& b,
                  const OfLanes<std::uint32_t>& positions, int selector) {
  double dense[16][32] = {}, full[32][8];
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < 8; ++i) {
      const int group_id = lane / 4, in_group = lane % 4;
      const bool is_upper = i < 2 || (i >= 4 && i < 6);
      const int row = is_upper ? group_id : group_id + 8;
      const int first_col = in_group * 4 + (i < 4 ? 0 : 16);
      // Lanes 0 and 1, or 2 and 3: sixteen entries of a row each, rows 8 on in the upper half.
      const int holder = group_id * 4 + selector * 2 + first_col / 16;
      const std::uint32_t nibble =
          positions[index(holder)] >> (is_upper ? 0 : 16) >> (first_col % 16);
      const std::uint32_t pick = i % 2 == 0 ? nibble & 3u : nibble >> 2 & 3u;
      dense[row][first_col + static_cast<int>(pick)] = a[index(lane)][index(i)];
      full[in_group * 2 + i % 2 + i / 2 * 8][group_id] = b[index(lane)][index(i)];
    }
  for (int row = 0; row < 16; ++row)
    for (int col = 0; col < 8; ++col)
      for (int k = 0; k < 32; ++k) d[index(row * 8 + col)] += dense[row][k] * full[k][col];
}

// A tile filled piece by piece from a matrix of its rows.
Bytes tile_from(const std::vector<Number>& matrix, const TileShape& shape) {
  Bytes tile(index(shape.num_bytes()));
  for (int row = 0; row < shape.rows; ++row)
    for (int piece = 0; piece < shape.row_pieces; ++piece)
      std::memcpy(tile.data() + piece_byte(shape.row_pieces, row, piece),
                  matrix.data() + (row * shape.row_pieces + piece) * kPiece, kPieceBytes);
  return tile;
}

struct TileProblem {
  PackedLayout layout;
  std::vector<Number> values, b;  // as they lie
  Bytes positions;
  Values want = Values(kTileM * kTileN);

  TileProblem(Random& random, bool along_k)
      : layout{along_k ? PackedOrder::kRowsWhole : PackedOrder::kColumnsWhole, kTileM, kTileK},
        values(kTileM * kTileValues),
        b(kTileN * kTileK),
        positions(index(layout.num_atoms() * kAtomHalves * 2)) {
    const Values mask = random_mask24(random, kTileM, kTileK);
    const Values dense = random.integers(kTileM * kTileK, -99, 99);
    const Values plain = random.integers(kTileK * kTileN, -99, 99);  // (K, N)
    for (int m = 0; m < kTileM; ++m)
      for (int k = 0, s = 0; k < kTileK; ++k) {
        const auto at = index(m * kTileK + k);
        if (mask[at] == 0.0) continue;
        values[index(layout.value_at(m, s))] = static_cast<Number>(dense[at]);
        const auto word = index(layout.word_of(m, k) * 2);
        auto bits = read_at<std::uint16_t>(positions, static_cast<int>(word));
        bits = static_cast<std::uint16_t>(bits | (k % 4) << (k % 16 / 4 * 4 + s % 2 * 2));
        std::memcpy(positions.data() + word, &bits, sizeof bits);
        ++s;
        for (int n = 0; n < kTileN; ++n)
          want[index(m * kTileN + n)] += dense[at] * plain[index(k * kTileN + n)];
      }
    for (int k = 0; k < kTileK; ++k)
      for (int n = 0; n < kTileN; ++n)
        b[index(along_k ? n * kTileK + k : k * kTileN + n)] =
            static_cast<Number>(plain[index(k * kTileN + n)]);
  }
};

template <class AddressOf>
OfLanes<int> of_lanes(const AddressOf& address_of) {
  OfLanes<int> addresses{};
  for (int lane = 0; lane < kLanes; ++lane) addresses[index(lane)] = address_of(lane);
  return addresses;
}

// The instruction at (m, n) of the tile, over both halves of K; its sums.
std::array<double, 128> emulated_warp(const TileProblem& problem, const Bytes& a_tile,
                                      const Bytes& b_tile, bool along_k, int m, int n) {
  std::array<double, 128> sums{};
  const int slab = m % kWarpM / kMmaM, atom = m / kWarpM * 512;
  for (int half = 0; half < 2; ++half) {
    const auto a =
        of_lanes([&](int lane) { return byte_of_a(along_k, lane, m, half * kMmaValues); });
    const auto b = of_lanes([&](int lane) { return byte_of_b(along_k, lane, n, half * kMmaK); });
    OfLanes<std::uint32_t> positions{};
    for (int lane = 0; lane < kLanes; ++lane)
      positions[index(lane)] = read_at<std::uint32_t>(
          problem.positions, atom + byte_of_positions(lane, slab / 2) + 4 * half);
    emulated_mma(sums, emulated_ldmatrix(a_tile, a, !along_k),
                 emulated_ldmatrix(b_tile, b, !along_k), positions, slab % 2);
  }
  return sums;
}

class SparseFragments : public SeededTest {};

TEST_F(SparseFragments, ATileMultipliesAsItShould) {
  Random random;
  for (const bool along_k : {true, false}) {
    const TileProblem problem(random, along_k);
    const Bytes a_tile = tile_from(problem.values, tile_of_a(along_k));
    const Bytes b_tile = tile_from(problem.b, tile_of_b(along_k));
    for (int m = 0; m < kTileM; m += kMmaM)
      for (int n = 0; n < kTileN; n += kMmaN) {
        const auto sums = emulated_warp(problem, a_tile, b_tile, along_k, m, n);
        for (int i = 0; i < 128; ++i)
          ASSERT_EQ(sums[index(i)], problem.want[index((m + i / 8) * kTileN + n + i % 8)])
              << "along K " << along_k << ", at " << m << ", " << n << ": " << i;
      }
  }
}

TEST(SparseTiles, PiecesAreABijection) {
  for (const TileShape& shape :
       {tile_of_a(true), tile_of_a(false), tile_of_b(true), tile_of_b(false)}) {
    std::set<int> bytes;
    for (int row = 0; row < shape.rows; ++row)
      for (int piece = 0; piece < shape.row_pieces; ++piece)
        bytes.insert(piece_byte(shape.row_pieces, row, piece));
    EXPECT_EQ(static_cast<int>(bytes.size()), shape.num_pieces());
    EXPECT_EQ(*bytes.begin(), 0);
    EXPECT_EQ(*bytes.rbegin(), shape.num_bytes() - kPieceBytes);
  }
}

// Eight lanes at a time read 128 bytes of banks.
TEST(SparseTiles, ReadsMeetNoBankTwice) {
  const auto expect_apart = [](const OfLanes<int>& bytes) {
    for (int first = 0; first < kLanes; first += 8) {
      std::set<int> places;
      for (int i = 0; i < 8; ++i) places.insert(bytes[index(first + i)] % 128);
      EXPECT_EQ(places.size(), 8u) << "lanes from " << first;
    }
  };
  for (const bool along_k : {true, false})
    for (const int half : {0, 1}) {
      for (int m = 0; m < kTileM; m += kMmaM)
        expect_apart(
            of_lanes([&](int lane) { return byte_of_a(along_k, lane, m, half * kMmaValues); }));
      for (int n = 0; n < kTileN; n += kMmaN)
        expect_apart(of_lanes([&](int lane) { return byte_of_b(along_k, lane, n, half * kMmaK); }));
    }
}

TEST(SparseTiles, EveryOrderComputesEveryTileOnce) {
  for (const int down : {1, 3, 8, 13})
    for (const int across : {1, 2, 7, 9})
      for (const bool along_n : {false, true})
        for (const int swizzle : {1, 2, 4, 8}) {
          std::set<std::pair<int, int>> met;
          for (int i = 0; i < down * across; ++i) {
            const TilePlace at = tile_place(i, down, across, along_n, swizzle);
            EXPECT_TRUE(at.m >= 0 && at.m < down && at.n >= 0 && at.n < across);
            met.insert({at.m, at.n});
          }
          EXPECT_EQ(static_cast<int>(met.size()), down * across)
              << down << " x " << across << ", along N " << along_n << ", by " << swizzle;
        }
  EXPECT_EQ(tile_place(1, 5, 5, false, 1).m, 1);
  EXPECT_EQ(tile_place(1, 5, 5, true, 1).n, 1);
  EXPECT_EQ(tile_place(1, 5, 5, true, 2).m, 1);
}

TEST(SparseTiles, KIsCutWhereTilesAreFew) {
  const std::int64_t slots = 216;              // of an A100
  EXPECT_EQ(parts_of_k(36, 256, slots), 6);    // 768 x 768 from 16384 tokens
  EXPECT_EQ(parts_of_k(144, 256, slots), 3);   // 768 x 3072
  EXPECT_EQ(parts_of_k(1024, 256, slots), 1);  // 4096 x 4096
  EXPECT_EQ(parts_of_k(1, 1, slots), 1);
  EXPECT_EQ(parts_of_k(4, 16, slots), 1);  // too short
  for (std::int64_t tiles = 1; tiles <= 300; ++tiles)
    for (const std::int64_t steps : {1, 7, 100, 4096}) {
      const std::int64_t parts = parts_of_k(tiles, steps, slots);
      EXPECT_GE(parts, 1);
      EXPECT_TRUE(parts == 1 || (parts * tiles <= 3 * slots && steps / parts >= 4));
    }
}

}  // namespace
}  // namespace twill::cuda
