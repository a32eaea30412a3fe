// SPDX-License-Identifier: Apache-2.0
// Product of a packed matrix with a plain one: weight gradients of sampled dY, products with selected
// activations.
//
//   c = P b [+ c]
//
//   packed  P, (M, K), ops/packed_matrix.h
//   b       (K, N)
//   c       (M, N)   must not overlap b
//
// f32 (reference: also f64), row-major, contiguous. Sums over the kept entries of a row of P are f32,
// in an order fixed by P and the shape, what c held added last: the number of threads changes no bit.
// Error per element at most (entries of that row of P + 3) eps Σ|terms|. What faces an entry that is
// not kept is never read into a sum.
#pragma once

#include "ops/packed_matrix.h"

namespace twill {

struct PackedTimesArgs {
  PackedMatrix packed;
  ConstView b;
  View c;
  bool accumulate = false;

  std::int64_t m() const { return c.shape()[0]; }
  std::int64_t n() const { return c.shape()[1]; }
  std::int64_t k() const { return b.shape()[0]; }
};

void validate(const PackedTimesArgs& args);
void packed_times(const Context& context, const PackedTimesArgs& args);

}  // namespace twill
