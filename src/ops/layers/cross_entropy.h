// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy, loss and gradient in one pass over the logits:
//
//   loss[r]      = log Σ_v exp(logits[r, v]) - logits[r, targets[r]]
//   dlogits[r,v] = s (softmax(logits[r])[v] - [v == targets[r]]),  s = scale, or scale / count
//
//   logits   (rows, V)
//   targets  (rows) i32, in [0, V) or -1: an ignored row has loss 0 and gradient 0
//   loss     (rows)
//   dlogits  (rows, V) optional; may be the same memory as logits
//   count    (1) f64 optional: how many targets the loss is a mean of (ops/layers/targets.h), read
//                    when the work runs; where it is 0, s is 0
//   best     (rows) i32 optional: the id of the largest logit, the lowest of equals; -1 where the
//                    row is ignored or its loss is NaN
//
// Types: logits and dlogits f32 or bf16, loss f32 (beside f64: f64). Targets outside that range are
// refused by the loader, not by kernels. A row whose logits are all -Inf has a NaN loss. The row's
// maximum is subtracted first. Error: two-oracle rule. Rows are independent.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct CrossEntropyArgs {
  ConstView logits;
  ConstView targets;
  View loss;
  View dlogits = {};
  View best = {};
  double scale = 1.0;
  ConstView count = {};
};

void validate(const CrossEntropyArgs& args);
void cross_entropy(const Context& context, const CrossEntropyArgs& args);

}  // namespace twill
