// SPDX-License-Identifier: Apache-2.0
// packed_times on the cpu. A task copies some columns of b into a panel, where rows follow each
// other closely (rows of b itself fall into few sets of a cache), and multiplies P with it, 256
// rows at a time. Bound by multiply-adds (packed_simd.cpp).
#include "ops/packed_times.h"

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/packed_product.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {

void packed_times(const PackedTimesArgs& args, const Device& device, Queue& queue) {
  const std::int64_t m = args.m(), n = args.n(), k = args.k();
  if (m == 0 || n == 0) return;
  const PackedStorage<const std::byte> packed(args.packed.storage.bytes());
  const PackedGrid grid = packed.grid();
  const PackedCut cut(grid, n);
  const std::int64_t size = PackedPanel::size(grid, cut.width);
  float* memory = cpu_queue(queue).packed_scratch().take(device.num_threads * size);
  run_tasks(queue, cut.tasks(), [&](std::int64_t task, int thread) {
    const PackedPanel scratch(grid, cut.width, memory + thread * size);
    const std::int64_t col = task / cut.parts * cut.width, part = task % cut.parts;
    const std::int64_t cols = std::min(cut.width, n - col);
    panel_of_columns(args.b.as<float>() + col, n, k, cols, scratch.panel);
    const std::int64_t end = std::min(grid.blocks(), (part + 1) * cut.blocks);
    for (std::int64_t block = part * cut.blocks; block < end; ++block) {
      const std::int64_t row = block * kBlockRows, rows = std::min(kBlockRows, m - row);
      const BlockInitial zeros{};
      multiply_block(packed, block, scratch, zeros.data(), cols);
      columns_of_sums(scratch.sums, rows, cols, args.accumulate, args.c.as<float>() + row * n + col,
                      n);
    }
  });
}

}  // namespace twill::cpu
