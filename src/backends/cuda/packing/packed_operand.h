// SPDX-License-Identifier: Apache-2.0
// A packed matrix of ops/packing/packed_matrix.h as this backend lays it out.
#pragma once

#include "backends/cuda/packing/packed_layout.h"
#include "ops/kernel_table.h"
#include "ops/packing/packed_matrix.h"

namespace twill::cuda {

inline PackedLayout layout_of(const PackedShape& shape) {
  return {.order = shape.side == PackedSide::kLeft ? PackedOrder::kColumnsWhole
                                                   : PackedOrder::kRowsWhole,
          .rows = shape.rows,
          .cols = shape.cols};
}

// Whether the device multiplies this layout: Ampere and later.
bool has_sparse_products(const Device& device);

}  // namespace twill::cuda
