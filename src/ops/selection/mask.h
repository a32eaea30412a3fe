// SPDX-License-Identifier: Apache-2.0
// Small ops on masks (one byte per element, 0 or 1).
//
//   apply_mask       y = mask ? x : 0; y may be x. With `keep_columns` (C) u8, elements of a column
//                    whose byte is 1 stay whatever the mask says (a dense side path). Zeros are +0.
//                    x is f32, bf16 or f64 and y of its type; or x is f32, a master weight, and y
//                    bf16, rounded to nearest even: an operand of products
//   mask_difference  count[0] = number of elements where a and b differ   (1) f64, exact below 2^53
//   mask_mass        sums[0] = Σ |x|, [1] = Σ x², [2] = Σ_kept |x|, [3] = Σ_kept x², [4] = Σ mask
//                    (5) f64; runs of 256 elements in index order, then the runs in index order,
//                    as in ops/selection/soft_threshold24.h. x is f32 or f64
//   count_nonzero    counts[c] = number of rows r with x[r, c] != 0                         (C) i32
//                    x is f32, bf16 or f64; a NaN is not zero
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct ApplyMaskArgs {
  ConstView x;
  ConstView mask;
  View y;
  ConstView keep_columns = {};
};

struct MaskDifferenceArgs {
  ConstView a;
  ConstView b;
  View count;
};

struct MaskMassArgs {
  ConstView x;
  ConstView mask;
  View sums;
};

struct CountNonzeroArgs {
  ConstView x;
  View counts;
};

void validate(const ApplyMaskArgs& args);
void validate(const MaskDifferenceArgs& args);
void validate(const MaskMassArgs& args);
void validate(const CountNonzeroArgs& args);
void apply_mask(const Context& context, const ApplyMaskArgs& args);
void mask_difference(const Context& context, const MaskDifferenceArgs& args);
void mask_mass(const Context& context, const MaskMassArgs& args);
void count_nonzero(const Context& context, const CountNonzeroArgs& args);

}  // namespace twill
