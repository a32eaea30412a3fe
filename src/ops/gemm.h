// SPDX-License-Identifier: Apache-2.0
// Matrix product with everything a linear layer adds to it:
//
//   c = op(a) op(b) [+ bias] [+ addend] [+ c]
//
//   a       (M, K), or (K, M) when trans_a
//   b       (K, N), or (N, K) when trans_b
//   c       (M, N)           must not overlap a or b
//   bias    (N)    optional  added to every row
//   addend  (M, N) optional  e.g. the residual stream; must not overlap c
//   accumulate               keeps what c held and adds to it
//
// f32 (reference: also f64), row-major, contiguous. Sums over K in free but fixed order per backend
// and shape: the number of threads changes no bit. Error per element at most
// (K + 3) eps Σ|terms| + eps |c|. K = 0 leaves the sum empty. NaN and Inf propagate as in IEEE.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct GemmArgs {
  ConstView a;
  ConstView b;
  View c;
  bool trans_a = false;
  bool trans_b = false;
  ConstView bias = {};
  ConstView addend = {};
  bool accumulate = false;

  std::int64_t m() const { return c.shape()[0]; }
  std::int64_t n() const { return c.shape()[1]; }
  std::int64_t k() const { return a.shape()[trans_a ? 0 : 1]; }
};

void validate(const GemmArgs& args);
void gemm(const Context& context, const GemmArgs& args);

}  // namespace twill
