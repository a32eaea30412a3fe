// SPDX-License-Identifier: Apache-2.0
// A matrix and its transposed packed from one reading: a weight for forward and dgrad.
//
//   dense               (R, C)       as in ops/packing/packed_matrix.h
//   mask                (R, C) u8    optional; kept entries satisfy the patterns of both sides
//   storage             u8           what pack_matrix makes of dense, bit for bit
//   storage_transposed  u8           what pack_matrix makes of dense with `transpose`
//
// shape is (R, C), shape_transposed (C, R). same_mask holds for both storages. A backend without a
// kernel of its own for the call packs one side after the other.
//
// pack_weights: the same for some weights whose storages do not overlap, together where the backend can:
// one alone may be too small to keep a device busy.
#pragma once

#include <span>

#include "ops/context.h"
#include "ops/packing/packed_matrix.h"
#include "tensor/view.h"

namespace twill {

struct PackBothArgs {
  ConstView dense;
  ConstView mask = {};
  PackedShape shape;
  View storage;
  PackedShape shape_transposed;
  View storage_transposed;
  bool same_mask = false;

  // One side of the call.
  PackMatrixArgs side(bool transpose) const {
    return {.dense = dense,
            .mask = mask,
            .shape = transpose ? shape_transposed : shape,
            .storage = transpose ? storage_transposed : storage,
            .transpose = transpose,
            .same_mask = same_mask};
  }
};

struct PackWeightsArgs {
  std::span<const PackBothArgs> weights;
};

void validate(const PackBothArgs& args);
void pack_both(const Context& context, const PackBothArgs& args);
void pack_weights(const Context& context, const PackWeightsArgs& args);

}  // namespace twill
