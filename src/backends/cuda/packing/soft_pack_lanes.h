// SPDX-License-Identifier: Apache-2.0
// How a warp of soft_pack24.cu shares 16 rows of an atom (packed_layout.h), in plain functions, so that
// a test can hold them against that layout without a GPU. Eight lanes have the 64 columns of a row, two
// groups each, in rows lane / 8 + 4 i. Of the positions of those 16 rows, 32 words of 32 bits side by
// side, each lane ends up with one: rows m and m + 8, of which it had eight columns itself and its
// neighbour the other eight.
#pragma once

namespace twill::cuda {

inline constexpr unsigned kLaneRows = 4;  // that a lane has
inline constexpr unsigned kWarpRows = 16;

constexpr unsigned row_of_lane(unsigned lane, unsigned i) { return lane / 8 + 4 * i; }
constexpr unsigned column_of_lane(unsigned lane) { return lane % 8 * 8; }

// What a lane has of two words, from a byte of two codes for each of its rows: rows m and m + 8, with
// m = row_of_lane(lane, second ? 1 : 0).
constexpr unsigned part_of_word(const unsigned (&codes)[kLaneRows], unsigned lane, bool second) {
  const unsigned i = second ? 1 : 0;
  return (codes[i] | codes[i + 2] << 16) << (8 * (lane % 2));
}
// An even lane stores the first of its words and its neighbour the second.
constexpr bool stores_second(unsigned lane) { return lane % 2 != 0; }
// Where the word lies among the 32.
constexpr unsigned word_of_lane(unsigned lane) {
  const unsigned sixteen = lane % 8 / 2, m = row_of_lane(lane, lane % 2);
  return sixteen / 2 + 2 * m + 16 * (sixteen % 2);
}

}  // namespace twill::cuda
