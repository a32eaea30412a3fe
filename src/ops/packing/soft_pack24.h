// SPDX-License-Identifier: Apache-2.0
// The soft projection of a master weight (ops/selection/soft_threshold24.h) and its packing, from one reading:
//
//   x          (R, C)  f32 (reference: also f64), groups along `axis`
//   projected  (R, C)  y of soft_threshold24, of the packed type; for products that take its zeros too
//   storage    u8      what pack_matrix makes of `projected` without a mask, bit for bit
//
// With `transpose` it is the transposed matrix that is packed, as there. Where keeps_projected is false
// nobody reads `projected` behind the call: it is scratch then, for backends that project first and pack
// then, and its contents are nobody's business.
//
// What is packed are the entries that are not zero once they are rounded to the type of `projected`: a
// result that underflows to zero, of either sign, is none. A backend without a kernel of its own for the
// call takes the two steps one after the other.
#pragma once

#include "ops/context.h"
#include "ops/packing/packed_matrix.h"
#include "ops/selection/soft_threshold24.h"
#include "tensor/view.h"

namespace twill {

struct SoftPack24Args {
  ConstView x;
  View projected;
  GroupAxis axis = GroupAxis::kWithinRow;
  double scale = 1.0;
  PackedShape shape;
  View storage;
  bool transpose = false;
  bool keeps_projected = true;

  // The two steps.
  SoftThreshold24Args projection() const {
    return {.x = x, .y = projected, .axis = axis, .scale = scale};
  }
  PackMatrixArgs packing() const {
    return {.dense = projected, .shape = shape, .storage = storage, .transpose = transpose};
  }
};

void validate(const SoftPack24Args& args);
void soft_pack24(const Context& context, const SoftPack24Args& args);

}  // namespace twill
