// SPDX-License-Identifier: Apache-2.0
// The non-linearity inside a feed-forward layer.
//
//   plain   y = f(x)               x, y (rows, F)
//   gated   y = value · f(gate)    y (rows, F), x (rows, 2 F) = [value | gate] of one matrix
//
//   kGelu       x Φ(x), Φ by erf
//   kGeluTanh   x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))        GPT-2's gelu_new
//   kRelu2      max(x, 0)²
//   kSwiglu     gated, f(g) = g sigmoid(g)
//   kGeglu      gated, f(g) = g Φ(g), Φ by erf
//   kGegluTanh  gated, f as kGeluTanh
//
// f32 or bf16; computed in f32 and rounded once. Error per element: two-oracle rule, plus 4 |y|
// 2^-23 for approximations of erf, tanh and exp.
// Limits are exact: f(-Inf) = -0 or 0, f(+Inf) = Inf, f(NaN) = NaN; relu2 keeps NaN. The slope at
// -Inf is 0 and at +Inf 1 (relu2: Inf); NaN in x or dy reaches dx.
// slope, of plain activations on backends that have it (KernelTable::keeps_slopes): f'(x), the bits of
// backward where dy is 1. It may be the same memory as x.
// emits: further copies of y, of dx (ops/numbers/emit.h).
// Backward: dx from x and dy. dx may be the same memory as x; dx may be the same memory as dy only
// for plain activations. Gated: dx (rows, 2 F) = [dvalue | dgate].
#pragma once

#include <span>

#include "ops/context.h"
#include "ops/numbers/emit.h"
#include "tensor/view.h"

namespace twill {

enum class Activation { kGelu, kGeluTanh, kRelu2, kSwiglu, kGeglu, kGegluTanh };

constexpr bool is_gated(Activation a) {
  return a == Activation::kSwiglu || a == Activation::kGeglu || a == Activation::kGegluTanh;
}

struct ActivationForwardArgs {
  Activation kind = Activation::kGelu;
  ConstView x;
  View y;
  View slope = {};                   // optional, as x
  std::span<const Emit> emits = {};  // of y
};

struct ActivationBackwardArgs {
  Activation kind = Activation::kGelu;
  ConstView x;
  ConstView dy;
  View dx;
  std::span<const Emit> emits = {};  // of dx
};

void validate(const ActivationForwardArgs& args);
void validate(const ActivationBackwardArgs& args);
void activation_forward(const Context& context, const ActivationForwardArgs& args);
void activation_backward(const Context& context, const ActivationBackwardArgs& args);

}  // namespace twill
