// SPDX-License-Identifier: Apache-2.0
// The kept entries of a matrix with an unstructured mask, one after the other: row by row, columns
// ascending. What belongs to them (values, gradients, moments) can live in arrays of that length,
// and everything that works element by element then costs as much as there are entries.
//
//   find_kept      row_begin (R + 1) i32, column (kept) i32 of mask (R, C) u8; any byte but 0 is kept.
//                  row_begin[R] = kept: `column` may be longer, the rest is not touched
//   gather_kept    values (kept) = the kept entries of dense (R, C); with `accumulate` they are added
//   scatter_kept   the kept entries of dense = values; other entries are not touched
//   kept_gradient  values (kept) [+]= the entries of dyᵀ x, dy (M, R), x (M, C): the gradient of a
//                  weight where it is kept. Sums over M in f32, in an order fixed by the shape and
//                  the entry's place; the number of threads changes no bit. Error per element at
//                  most (M + 3) eps Σ|terms|. M = 0 gives zeros
//
// Values, dense, dy and x are f32 (reference: also f64). R C is below 2^31. Copies are bit-exact.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

// Where the kept entries stand; both views of find_kept, `column` cut to their number.
struct KeptPositions {
  ConstView row_begin = {};
  ConstView column = {};

  std::int64_t rows() const { return row_begin.num_elements() - 1; }
  std::int64_t count() const { return column.num_elements(); }
  explicit operator bool() const { return static_cast<bool>(row_begin); }
};

struct FindKeptArgs {
  ConstView mask;
  View row_begin;
  View column;  // at least as long as there are kept entries
};

struct GatherKeptArgs {
  ConstView dense;
  KeptPositions kept;
  View values;
  bool accumulate = false;
};

struct ScatterKeptArgs {
  ConstView values;
  KeptPositions kept;
  View dense;
};

struct KeptGradientArgs {
  ConstView dy;
  ConstView x;
  KeptPositions kept;
  View values;
  bool accumulate = false;

  std::int64_t m() const { return x.shape()[0]; }
  std::int64_t cols() const { return x.shape()[1]; }
};

void validate(const FindKeptArgs& args);
void validate(const GatherKeptArgs& args);
void validate(const ScatterKeptArgs& args);
void validate(const KeptGradientArgs& args);
void find_kept(const Context& context, const FindKeptArgs& args);
void gather_kept(const Context& context, const GatherKeptArgs& args);
void scatter_kept(const Context& context, const ScatterKeptArgs& args);
void kept_gradient(const Context& context, const KeptGradientArgs& args);

}  // namespace twill
