// SPDX-License-Identifier: Apache-2.0
// The arithmetic of pack_tiles.cu in plain functions, so that a test can hold them against what they
// say without a GPU: bits of a block of 4 x 4 entries, where entry (r, c) is bit 4 r + c, and where the
// packed rows of an atom lie in shared memory, 64 rows of 16 groups, a pair of bf16 values and a code
// each.
//
// A warp writes the groups of 4 x 8 blocks (four rows, and a group of each): on one side four groups of
// rows of eight blocks, on the other two times four groups of rows of four. It reads pieces of four
// groups, 16 bytes, of eight neighbouring rows. None of it meets in a bank.
#pragma once

namespace twill::cuda {

// Bit i is set where byte i is not 0.
constexpr unsigned bits_of_flags(unsigned flags) {
  const unsigned high = (((flags & 0x7f7f'7f7fu) + 0x7f7f'7f7fu) | flags) & 0x8080'8080u;
  return (high >> 7) * 0x1020'4080u >> 28;  // byte i moves to bit 28 + i, and no two sums meet
}

// Rows become columns.
constexpr unsigned turned_bits(unsigned kept) {
  unsigned swapped = (kept ^ kept >> 3) & 0x0a0au;  // within 2 x 2
  kept ^= swapped ^ swapped << 3;
  swapped = (kept ^ kept >> 6) & 0x00ccu;  // the 2 x 2 themselves
  return kept ^ swapped ^ swapped << 6;
}

// The two entries that a code of ops/packing/pack24.h names.
constexpr unsigned set_of_code(unsigned code) { return 1u << (code & 3u) | 1u << (code >> 2 & 3u); }

// Four codes, one in each byte, as a word of positions.
constexpr unsigned word_of_codes(unsigned bytes) {
  const unsigned pairs = (bytes | bytes >> 4) & 0x00ff'00ffu;
  return (pairs | pairs >> 8) & 0xffffu;
}

inline constexpr unsigned kStagedValues = 64 * 16;         // words of 32 bits
inline constexpr unsigned kStagedCodes = 3 * 80 + 8 + 64;  // words of four codes

// The word of a group's values. Two rows are 32 words; the eight pieces in them change places by the
// block of four rows they belong to, in an order whose every second one suffices for four blocks.
constexpr unsigned staged_value(unsigned row, unsigned group) {
  const unsigned block = row / 4 % 8, turn = (block << 1 | block >> 2) & 7u;
  const unsigned piece = (row % 2 * 4 + group / 4) ^ turn;
  return row / 2 * 32 + piece * 4 + group % 4;
}

// The word of four codes, of the groups of sixteen entries: a row each, and the four sixteens of a row
// in different banks.
constexpr unsigned staged_code(unsigned row, unsigned sixteen) {
  return 80 * sixteen + 8 * (sixteen / 2) + row;
}

}  // namespace twill::cuda
