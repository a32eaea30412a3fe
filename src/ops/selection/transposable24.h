// SPDX-License-Identifier: Apache-2.0
// 2:4 in both directions at once (FST): each aligned 4 x 4 block keeps eight entries, two in every
// row and two in every column, so that one mask serves W and its transpose.
//
//   x     (R, C) f32 or f64, both multiples of 4: a master weight
//   mask  (R, C) u8
//
// kExact       the best of the 90 legal patterns. The score of a pattern is (p0 + p1) + (p2 + p3)
//              in the type of x, p_i the sum of row i's two kept magnitudes (lower column first).
//              The highest score wins, of equal ones the lowest index; patterns are numbered in
//              descending lexicographic order, row-major: 0 is 1100/1100/0011/0011, 89 is
//              0011/0011/1100/1100.
// kGreedyKeep  entries from the largest magnitude down, of equal ones the lowest index of the
//              row-major block first; each is kept if its row and its column have fewer than two.
//              Never illegal, but 16 % of random blocks keep only seven.
//
// NaN counts as +Inf. A sum that would be Inf - Inf cannot occur: magnitudes are not negative.
// Bit-exact everywhere: additions in a fixed order and comparisons only.
#pragma once

#include <array>
#include <cstdint>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

enum class TransposableMethod : std::uint8_t { kExact, kGreedyKeep };

struct Transposable24Args {
  ConstView x;
  View mask;
  TransposableMethod method = TransposableMethod::kExact;
};

// The 90 patterns in their order; bit 15 - (4 row + column) of each is the mask at (row, column).
const std::array<std::uint16_t, 90>& transposable_patterns();

void validate(const Transposable24Args& args);
void transposable24(const Context& context, const Transposable24Args& args);

}  // namespace twill
