// SPDX-License-Identifier: Apache-2.0
// FP8 as a simulation: every element is rounded to FP8 under one scale per tensor, and back.
//
//   s    = max / amax, amax = largest |x|, max = 448 (e4m3) or 57344 (e5m2); 1 where amax = 0
//   y[i] = q(x[i] · s) / s,  q rounds to nearest, ties to even, and saturates at max
//
//   x, y  any equal shapes, f32, bf16 or f64; y may be x
//
// s, the product and the quotient are each rounded to the type of x, of a bf16 x to f32, and a bf16
// y once more at the end: bit-exact everywhere. A tensor with an entry that is not finite is copied
// as it is: the trainer's finite check sees it. An amax so small that max / amax overflows takes
// the largest finite s.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

enum class Fp8Format : std::uint8_t { kE4m3, kE5m2 };

struct Fp8RoundArgs {
  ConstView x;
  View y;
  Fp8Format format = Fp8Format::kE4m3;
};

void validate(const Fp8RoundArgs& args);
void fp8_round(const Context& context, const Fp8RoundArgs& args);

}  // namespace twill
