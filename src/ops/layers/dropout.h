// SPDX-License-Identifier: Apache-2.0
// Dropout with a residual:
//
//   y[i] = [addend[i] +] (keep(i) ? x[i] · 1/(1-p) : 0)
//
//   x, y, addend  any equal shapes; y may be the same memory as x or addend
//   keep(i)       word i % 4 of random_bits(seed, kDropout, step, stream * 2^40 + i / 4), as
//                 unit_float, is at least p (compared in f64)
//
// `stream` (below 2^24) numbers the place in the model, `step` the micro-step of the run. Where
// step_at is given, the step is the number that stands there when the work runs: recorded work then
// draws anew each time.
//
// No mask is stored: the backward pass is the same op on dy with the same seed, step and stream.
// 1/(1-p) is rounded to f32 (beside f64: f64) once; the product and the sum round separately (no
// fused multiply-add), and a dropped element is addend + 0. bf16 is computed in f32 and rounded at
// the end. So every type is bit-identical on every backend.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct DropoutArgs {
  ConstView x;
  ConstView addend = {};
  View y;
  double p = 0.0;
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  ConstView step_at = {};  // (1) i32, optional; its bits are those of the step
  std::uint64_t stream = 0;
};

void validate(const DropoutArgs& args);
void dropout(const Context& context, const DropoutArgs& args);

}  // namespace twill
