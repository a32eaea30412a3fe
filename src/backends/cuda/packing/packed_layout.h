// SPDX-License-Identifier: Apache-2.0
// How a 2:4 matrix lies in memory for sparse tensor cores (docs/packed_layout.md draws it):
// values first, from the next multiple of 128 bytes on the positions they stand at. Plain functions of
// the canonical form of ops/packing/pack24.h, so that a test can hold them against it without a GPU.
//
// An entry (m, k) of the matrix is one of M x K; of four neighbours along K two are stored. Values are
// bf16. Their order is chosen by the product that reads them:
//
//   kRowsWhole     value s of row m at m · pitch + s, s = k / 4 · 2 + {0, 1}; a weight for times_packed
//   kColumnsWhole  value s of row m at s · pitch + m; a sample of tokens for packed_times: what was
//                  token-major stays so, and packing moves no entry to another column
//
// Positions are nibbles as in ops/packing/pack24.h, four bits for four entries of K, so one bit per entry.
// 64 x 64 entries are an atom of 512 bytes: within it the bits lie as the tensor cores' registers take
// them, sixteen entries of a row side by side. Atoms follow each other along M, then along K.
#pragma once

#include <cstdint>

namespace twill::cuda {

enum class PackedOrder : std::uint8_t { kRowsWhole, kColumnsWhole };

inline constexpr std::int64_t kAtom = 64;         // entries along M and along K
inline constexpr std::int64_t kAtomHalves = 256;  // 16-bit words, sixteen entries each
inline constexpr std::int64_t kSixteen = 16;      // entries of K whose positions are one word
inline constexpr std::uint16_t kIdlePositions = 0x4444;  // four times the code of entries 0 and 1

constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b * b; }

// The word of the sixteen entries around (m, k) within their atom.
constexpr std::int64_t word_in_atom(std::int64_t m, std::int64_t k) {
  return (m / 8 % 2) + 2 * (k / 32 % 2) + 4 * (m % 8) + 32 * (k / 16 % 2) + 64 * (m / 16 % 4);
}

struct PackedLayout {
  PackedOrder order = PackedOrder::kRowsWhole;
  std::int64_t rows = 0;  // M
  std::int64_t cols = 0;  // K

  // Whether the hardware takes the matrix: copies in blocks need 16 bytes at a time.
  constexpr bool is_possible() const {
    return rows > 0 && cols > 0 && rows % 8 == 0 &&
           (order == PackedOrder::kColumnsWhole || cols % 16 == 0);
  }
  // Values of a row, and of a column of them.
  constexpr std::int64_t row_values() const { return (cols + 3) / 4 * 2; }
  constexpr std::int64_t pitch() const {
    return order == PackedOrder::kRowsWhole ? row_values() : rows;
  }
  constexpr std::int64_t value_at(std::int64_t m, std::int64_t s) const {
    return order == PackedOrder::kRowsWhole ? m * pitch() + s : s * pitch() + m;
  }
  constexpr std::int64_t atoms_down() const { return (rows + kAtom - 1) / kAtom; }
  constexpr std::int64_t atoms_across() const { return (cols + kAtom - 1) / kAtom; }
  constexpr std::int64_t num_atoms() const { return atoms_down() * atoms_across(); }
  constexpr std::int64_t atom_of(std::int64_t m, std::int64_t k) const {
    return m / kAtom + k / kAtom * atoms_down();
  }
  constexpr std::int64_t word_of(std::int64_t m, std::int64_t k) const {
    return atom_of(m, k) * kAtomHalves + word_in_atom(m, k);
  }
  constexpr std::int64_t positions_begin() const { return round_up(rows * row_values() * 2, 128); }
  // Rows from `row` on as A of a product of their own: where their values and positions begin, in bytes.
  // Atoms stay as far apart along K as they are: atoms_down() of the whole matrix.
  constexpr bool can_begin_at(std::int64_t row) const {
    return order == PackedOrder::kRowsWhole && row % kAtom == 0 && row * row_values() % 8 == 0;
  }
  constexpr std::int64_t values_from(std::int64_t row) const { return value_at(row, 0) * 2; }
  constexpr std::int64_t positions_from(std::int64_t row) const {
    return positions_begin() + atom_of(row, 0) * kAtomHalves * 2;
  }
  constexpr std::int64_t num_bytes() const {
    return positions_begin() + num_atoms() * kAtomHalves * 2;
  }
};

}  // namespace twill::cuda
