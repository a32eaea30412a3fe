// SPDX-License-Identifier: Apache-2.0
// V:2:M selection (Venom): in each block of V rows x M columns only four columns survive, and each
// row keeps at most two of them. 1:2:4 is plain 2:4 of what is not zero.
//
//   x          (R, C)   f32 or bf16 (reference: also f64)
//   mask       (R, C) u8
//   row_order  (R) i32, optional: position p of the order is row row_order[p]; blocks are taken
//              from the order, the mask is written in the order of x. Same for column_order (C). An
//              order is a permutation; nobody checks.
//   along      kWithinRow: V rows x M columns. kWithinColumn: the transposed pattern, V columns x M
//              rows (windows of M tokens, shared by V neurons).
//   mass       (3) f64, optional: Σ |x|, Σ |x| in surviving columns, Σ |x| kept
//
// Per block: score of a column = sum of its V magnitudes in the type of x (f32 for a bf16 x), from
// the first position on in order; the four best columns survive, of equal scores the lowest
// position first. Per row: the two largest magnitudes among the surviving columns, of equal ones
// the lowest position, and only where |x| > 0. NaN counts as +Inf. Blocks at the end may have fewer
// rows or columns; a window of four columns or fewer keeps them all. Additions in a fixed order:
// bit-exact everywhere. `mass` is for reports: f64, each row in position order, then the rows in
// position order, where rows are those of the pattern (columns of x for kWithinColumn).
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "ops/selection/groups24.h"
#include "tensor/view.h"

namespace twill {

struct VenomSelectArgs {
  ConstView x;
  View mask;
  ConstView row_order = {};
  ConstView column_order = {};
  GroupAxis along = GroupAxis::kWithinRow;
  std::int64_t v = 64;
  std::int64_t m = 8;
  View mass = {};
};

void validate(const VenomSelectArgs& args);
void venom_select(const Context& context, const VenomSelectArgs& args);

}  // namespace twill
