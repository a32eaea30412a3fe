// SPDX-License-Identifier: Apache-2.0
// Product of a packed matrix with a plain one: weight gradients of sampled dY, products with selected
// activations.
//
//   c = P b [+ bias] [+ addend] [+ c]
//
//   packed  P, (M, K), ops/packing/packed_matrix.h
//   b       (K, N), with trans_b (N, K) and its transposed is multiplied
//   c       (M, N), with trans_c (N, M) and takes the transposed sums; must not overlap b
//   bias    (N)    optional  added to every row of P b
//   addend  (M, N) optional  e.g. the residual stream; must not overlap c
//
// bias and addend do not go with trans_c or accumulate.
//
// b has P's type (reference: also f64), c as well, or, without bias and addend, f32; row-major,
// contiguous. Sums over the kept entries of a row of P are f32, in an order fixed by P and the shape,
// what c held added last: the number of threads changes no bit.
// Error per element at most (entries of that row of P + 3) eps Σ|terms|. What faces an entry that is
// not kept is not read into a sum (cuda: unless it has to multiply dense: operands off 16 bytes, a bf16
// or transposed result).
#pragma once

#include "ops/packing/packed_matrix.h"

namespace twill {

struct PackedTimesArgs {
  PackedMatrix packed;
  ConstView b;
  View c;
  bool trans_b = false;
  bool trans_c = false;
  bool accumulate = false;
  ConstView bias = {};
  ConstView addend = {};

  std::int64_t m() const { return c.shape()[trans_c ? 1 : 0]; }
  std::int64_t n() const { return c.shape()[trans_c ? 0 : 1]; }
  std::int64_t k() const { return b.shape()[trans_b ? 1 : 0]; }
};

void validate(const PackedTimesArgs& args);
void packed_times(const Context& context, const PackedTimesArgs& args);

}  // namespace twill
