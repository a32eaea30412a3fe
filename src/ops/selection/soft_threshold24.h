// SPDX-License-Identifier: Apache-2.0
// The continuous 2:4 projection of S-STE. Per group of four with magnitudes t1 <= t2 <= t3 <= t4:
//
//   S(x)_i = sign(x_i) · max(|x_i| - t2, 0),    y = scale · S(x)
//   t2 = min(max(min(b0, b1), min(b2, b3)), min(max(b0, b1), max(b2, b3))),  b = |x|
//
//   x     (R, C) f32 or f64: a master weight; the grouped dimension is a multiple of 4
//   y     (R, C) of the type of x, then it may be x; or bf16 beside f32: an operand of products
//   scale finite, rounded to the type of x once
//
// At most two entries of a group are not zero; where S is zero, y is +0. One subtraction and one
// product per element, each rounded to the type of x, and a bf16 y once more: bit-exact everywhere.
// NaN counts as magnitude +Inf for the threshold, and itself comes out as NaN; a group with
// Inf - Inf gives NaN: the trainer's finite check sees both.
//
// soft_threshold24_sums: what the scale is computed from, S unscaled:
//
//   sums[0] = Σ x S(x), sums[1] = Σ S(x)², sums[2] = Σ |x|, sums[3] = Σ |S(x)|      (4) f64
//
// The sums decide something, so their order is fixed: each run of 256 consecutive elements
// (row-major, the last run may be shorter) is added in index order in f64, then the runs in index
// order. Products are formed in f64.
//   beta that minimises ||x - beta S(x)||²: sums[0] / sums[1]; that keeps the L1: sums[2] / sums[3]
#pragma once

#include "ops/context.h"
#include "ops/selection/groups24.h"
#include "tensor/view.h"

namespace twill {

struct SoftThreshold24Args {
  ConstView x;
  View y;
  GroupAxis axis = GroupAxis::kWithinRow;
  double scale = 1.0;
};

struct SoftThreshold24SumsArgs {
  ConstView x;
  View sums;
  GroupAxis axis = GroupAxis::kWithinRow;
};

// `op`: whose message it is where another op begins with this one.
void validate(const SoftThreshold24Args& args, const char* op = "soft_threshold24");
void validate(const SoftThreshold24SumsArgs& args);
void soft_threshold24(const Context& context, const SoftThreshold24Args& args);
void soft_threshold24_sums(const Context& context, const SoftThreshold24SumsArgs& args);

}  // namespace twill
