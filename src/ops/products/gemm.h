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
// f32 or bf16 (reference: also f64), row-major, contiguous; bf16 a and b may also have an f32 c: the
// gradient of a weight. bias has the type of a, addend the type of c. Sums over K are f32, in free
// but fixed order per backend and shape: the number of threads changes no bit. Error per element at
// most (K + 3) eps Σ|terms| + eps_c |c|, eps_c that of c's type; a bf16 c may have been rounded once
// more before the bias is added: + eps_c |sum without bias|. K = 0 leaves the sum empty. NaN and
// Inf propagate as in IEEE.
//
// Epilogue, for plain activations f (ops/layers/activation.h), without accumulate:
//   kActivation          before = the sum above, c = f(before); before (M, N) is written
//   kActivationGradient  c = the sum above · f'(before); before (M, N) is read
// before must not overlap a, b or c.
// kActivation: c = f(before as stored), so that c can be computed again from before, bit for bit.
// In kActivationGradient the sum may or may not have been rounded to the type of c before f' meets
// it. A backend that does not fuse them is given the product and the activation one after the
// other.
#pragma once

#include "ops/context.h"
#include "ops/layers/activation.h"
#include "tensor/view.h"

namespace twill {

enum class GemmEpilogue { kNone, kActivation, kActivationGradient };

struct GemmArgs {
  ConstView a;
  ConstView b;
  View c;
  bool trans_a = false;
  bool trans_b = false;
  ConstView bias = {};
  ConstView addend = {};
  bool accumulate = false;
  GemmEpilogue epilogue = GemmEpilogue::kNone;
  Activation activation = Activation::kGelu;
  View before = {};

  std::int64_t m() const { return c.shape()[0]; }
  std::int64_t n() const { return c.shape()[1]; }
  std::int64_t k() const { return a.shape()[trans_a ? 0 : 1]; }
};

// An epilogue as a step of its own: the product, then f or its gradient, in place.
GemmArgs sum_of(const GemmArgs& args);
ActivationForwardArgs activation_of(const GemmArgs& args);
ActivationBackwardArgs gradient_of(const GemmArgs& args);

void validate(const GemmArgs& args);
void gemm(const Context& context, const GemmArgs& args);

}  // namespace twill
