// SPDX-License-Identifier: Apache-2.0
// Product with a packed weight, and everything a linear layer adds to it:
//
//   c = x Pᵀ [+ bias] [+ addend]
//
//   x       (M, K)
//   packed  P, (N, K), ops/packing/packed_matrix.h
//   c       (M, N)           must not overlap x; (M, N / 2) behind a gated activation
//   bias    (N)    optional  added to every row
//   addend  (M, N) optional  e.g. the residual stream; must not overlap c
//
// and the epilogues of ops/products/gemm.h: kActivation, before = the sum above, c = f(before as stored);
// kActivationGradient, c = the sum above · f'(before). before (M, N) must not overlap x or c.
// kActivation also takes a gated activation: P and before are [value | gate] along N, and
// c (M, N / 2) = value · f(gate) of before as stored.
//
// keeps_slope, for plain activations on backends that have it (KernelTable::keeps_slopes): with z the sum
// above as it would be stored, kActivation leaves before = f'(z), rounded once, in place of z, and
// kActivationGradient takes it so: c = the sum above · before. Whoever has both products spares the second
// f', at the price of that rounding.
//
// All of P's type (reference: also f64), row-major, contiguous. Sums over the kept entries of a row of P
// are f32, in an order fixed by P and the shape: the number of threads changes no bit, and on a CPU
// neither does the number of other rows in x. Error per element at most (entries of that row of P + 3)
// eps Σ|terms|, and of bf16 the roundings that ops/products/gemm.h grants.
// What faces an entry that is not kept is not read into a sum: a NaN there is not seen (cuda: unless
// operands off 16 bytes have it multiply dense). Any M, N and K; no kept entry leaves the sum empty.
#pragma once

#include "ops/packing/packed_matrix.h"
#include "ops/products/gemm.h"

namespace twill {

struct TimesPackedArgs {
  ConstView x;
  PackedMatrix packed;
  View c;
  ConstView bias = {};
  ConstView addend = {};
  GemmEpilogue epilogue = GemmEpilogue::kNone;
  Activation activation = Activation::kGelu;
  View before = {};
  bool keeps_slope = false;

  // A gated activation makes one column of c out of two of the sum.
  bool halves() const { return epilogue == GemmEpilogue::kActivation && is_gated(activation); }
  std::int64_t m() const { return c.shape()[0]; }
  std::int64_t n() const { return c.shape()[1] * (halves() ? 2 : 1); }
  std::int64_t k() const { return x.shape()[1]; }
};

// An epilogue as a step of its own, as in ops/products/gemm.h.
TimesPackedArgs sum_of(const TimesPackedArgs& args);
ActivationForwardArgs activation_of(const TimesPackedArgs& args);
ActivationBackwardArgs gradient_of(const TimesPackedArgs& args);

void validate(const TimesPackedArgs& args);
void times_packed(const Context& context, const TimesPackedArgs& args);

}  // namespace twill
