// SPDX-License-Identifier: Apache-2.0
// What the two products with a packed matrix share: the cut of the work, and the scratch of a
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/products/packed_simd.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {

// A task is a panel's width of tokens (or columns of c) and some blocks of P's rows: all of them
// when there are tokens enough, because every task fills its panel anew. Depends on the shape
// alone.
struct PackedCut {
  PackedCut(const PackedGrid& grid, std::int64_t extent)
      : width(panel_width()),
        panels(PackedGrid::pieces(extent, width)),
        blocks(PackedGrid::pieces(grid.blocks(), parts_of(grid.blocks()))),
        parts(PackedGrid::pieces(grid.blocks(), blocks)) {}

  std::int64_t tasks() const { return panels * parts; }

  std::int64_t width;
  std::int64_t panels;
  std::int64_t blocks;  // per task
  std::int64_t parts;

 private:
  // Enough for a few threads.
  static constexpr std::int64_t kTasks = 16;

  std::int64_t parts_of(std::int64_t all) const {
    const std::int64_t wanted = PackedGrid::pieces(kTasks, std::max<std::int64_t>(1, panels));
    return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, all));
  }
};

// What one thread works in.
struct PackedPanel {
  static std::int64_t size(const PackedGrid& grid, std::int64_t width) {
    return (grid.cols + kBlockRows) * width;
  }
  PackedPanel(const PackedGrid& grid, std::int64_t width, float* memory)
      : panel(memory), sums(memory + grid.cols * width) {}

  float* panel;  // (cols, width)
  float* sums;   // (256, width)
};

// sums = initial + P panel, for the rows of one block.
inline void multiply_block(const PackedStorage<const std::byte>& packed, std::int64_t block,
                           const PackedPanel& scratch, const float* initial, std::int64_t used) {
  const PackedGrid grid = packed.grid();
  const std::int64_t width = panel_width(), chunks = grid.chunks();
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
    multiply_group({.group = packed.group(block, chunk),
                    .panel = scratch.panel + chunk * grid.chunk * width,
                    .initial = chunk == 0 ? initial : nullptr,
                    .sums = scratch.sums,
                    .used = used});
}

using BlockInitial = std::array<float, kBlockRows>;

}  // namespace twill::cpu
