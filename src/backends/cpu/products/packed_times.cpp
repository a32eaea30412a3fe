// SPDX-License-Identifier: Apache-2.0
// packed_times on the cpu. A task copies some columns of b into a panel, where rows follow each
// other closely (rows of b itself fall into few sets of a cache), and multiplies P with it, 256
// rows at a time. A transposed b is turned on its way into the panel, a transposed c on its way out
// of the sums: neither has a copy. Bound by multiply-adds (packed_simd.cpp).
#include "ops/products/packed_times.h"

#include <algorithm>
#include <array>

#include "backends/cpu/kernels.h"
#include "backends/cpu/numbers/pointwise_simd.h"
#include "backends/cpu/products/operand.h"
#include "backends/cpu/products/packed_product.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

// Part of P b: so many rows and columns from here on.
struct Part {
  std::int64_t row;
  std::int64_t rows;
  std::int64_t col;
  std::int64_t cols;
};

const float* shifted(const float* from, std::int64_t by) {
  return from == nullptr ? nullptr : from + by;
}

void write_plain(const PackedTimesArgs& args, const float* sums, const Part& part) {
  const std::int64_t at = part.row * args.n() + part.col;
  float* c = args.c.as<float>() + at;
  columns_of_sums({.sums = sums,
                   .rows = part.rows,
                   .cols = part.cols,
                   .bias = shifted(data_of(args.bias), part.col),
                   .addend = args.accumulate ? c : shifted(data_of(args.addend), at),
                   .c = c,
                   .stride = args.n()});
}

void write_transposed(const PackedTimesArgs& args, const float* sums, const Part& part) {
  constexpr std::int64_t kAtOnce = 16;  // 16 KB
  const std::int64_t m = args.m();
  for (std::int64_t first = 0; first < part.cols; first += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, part.cols - first);
    float* c = args.c.as<float>() + (part.col + first) * m + part.row;
    if (!args.accumulate) {
      tokens_of_sums(sums + first, part.rows, count, c, m);
      continue;
    }
    std::array<float, kAtOnce * kBlockRows> turned;
    tokens_of_sums(sums + first, part.rows, count, turned.data(), kBlockRows);
    for (std::int64_t i = 0; i < count; ++i) {
      const float* terms[] = {turned.data() + i * kBlockRows, c + i * m, nullptr};
      add_terms(terms, c + i * m, part.rows);
    }
  }
}

}  // namespace

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
    const float* b = args.b.as<float>();
    if (args.trans_b) {
      panel_of_tokens(b + col * k, k, cols, k, scratch.panel);
    } else {
      panel_of_columns(b + col, n, k, cols, scratch.panel);
    }
    const std::int64_t end = std::min(grid.blocks(), (part + 1) * cut.blocks);
    for (std::int64_t block = part * cut.blocks; block < end; ++block) {
      const std::int64_t row = block * kBlockRows, rows = std::min(kBlockRows, m - row);
      const BlockInitial zeros{};
      multiply_block(packed, block, scratch, zeros.data(), cols);
      (args.trans_c ? write_transposed : write_plain)(args, scratch.sums, {row, rows, col, cols});
    }
  });
}

}  // namespace twill::cpu
