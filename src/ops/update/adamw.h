// SPDX-License-Identifier: Apache-2.0
// AdamW with decoupled weight decay (Loshchilov & Hutter), one tensor:
//
//   g  = grad_scale · grad
//   m  = beta1 m + (1 - beta1) g
//   v  = beta2 v + (1 - beta2) g²
//   w -= lr (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + eps) + weight_decay w)
//
//   weight, grad   any equal shapes; grad is not changed
//   m, v           same shape; of the weight's type, or both bf16
//   step           1 for the first update
//   operand        optional, bf16, same shape: the new weight rounded to nearest, for products
//   emits          further copies of the new weight (ops/numbers/emit.h)
//   freeze_v       v is neither changed nor corrected: w -= lr (m̂ / (sqrt(v) + eps) + …)
//   seed, stream   of the draws for bf16 moments; stream (below 2^24) numbers the tensor
//
// f32 per element: (1 - beta), bias corrections and lr are computed in f64 and rounded once.
// Elements are independent. Error: two-oracle rule.
//
// bf16 moments are stored with stochastic rounding. To nearest, v would never take a change below
// 2^-9 of itself, and with beta2 = 0.999 hardly any is larger: a v that should fall stays where it
// is. Everything is computed in f32 from the stored values, and the weight sees the new m and v
// before they are rounded. An f32 lies between two bf16 numbers; its lower 16 bits, r, are the
// distance to the one nearer to zero as a share r / 2^16 of the gap. The other one is stored when
// r + draw >= 2^16, so that the mean over draws is the f32 value.
//   draw of element i: of word i % 4 of random_bits(seed, kMoments, step, stream · 2^40 + i / 4),
//   the lower half for m and the upper half for v
// What bf16 holds stays, NaN stays NaN, and above the largest bf16 number a value may become Inf.
// Draws are exact: of the same f32 value every backend stores the same bits. The f32 value itself
// may differ in its last bits between backends; then a stored moment differs by at most one step of
// bf16.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ops/context.h"
#include "ops/numbers/emit.h"
#include "tensor/view.h"

namespace twill {

struct AdamwArgs {
  View weight;
  ConstView grad;
  View m;
  View v;
  View operand = {};
  double lr = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double grad_scale = 1.0;
  std::int64_t step = 1;
  bool freeze_v = false;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::span<const Emit> emits = {};  // of weight
};

// Types and shapes of one tensor's views, for every op that updates them.
void require_update_views(std::string_view op, const AdamwArgs& args);
void validate(const AdamwArgs& args);
void adamw(const Context& context, const AdamwArgs& args);

}  // namespace twill
