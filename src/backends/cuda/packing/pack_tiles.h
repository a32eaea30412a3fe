// SPDX-License-Identifier: Apache-2.0
// Packing in tiles of 64 x 64 (pack_tiles.cu): what pack_matrix and pack_weights run where they can.
#pragma once

#include <initializer_list>
#include <span>

#include "backends/cuda/packing/packed_operand.h"
#include "ops/kernel_table.h"
#include "tensor/view.h"

namespace twill::cuda {

struct TilePacking {
  ConstView dense;  // f32 or bf16
  ConstView mask;   // absent: what is not 0
  View plain;       // storage of the matrix as it lies, or absent
  View turned;      // of the transposed one, or absent
  // The positions that are in the storage hold, and every group of them keeps two entries.
  bool keeps_positions = false;
};

// Whether a storage of this shape is written by tiles, from these operands.
bool packs_by_tiles(const PackedShape& shape, std::initializer_list<ConstView> operands);
// Whether the storage's positions say what is kept. Where a group may keep fewer than two they do not:
// they name entries that are none.
inline bool holds_positions(const PackedShape& shape, bool same_mask) {
  return same_mask && shape.pattern == PackedPattern::kTransposable24;
}
// Neighbours of one kind share a launch.
void pack_tiles(std::span<const TilePacking> packings, Queue& queue);

}  // namespace twill::cuda
