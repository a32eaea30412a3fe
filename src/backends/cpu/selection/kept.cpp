// SPDX-License-Identifier: Apache-2.0
// Kept entries found, gathered and scattered on the cpu. Bound by memory. Every entry is written by
// one task and from one place, so the number of threads changes no bit.
#include "ops/selection/kept.h"

#include <cstdint>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/kept_simd.h"
#include "base/require.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 65536;  // elements of the whole matrix

// body(row, first entry, end of entries) for every row.
template <class Body>
void for_each_row(Queue& queue, const KeptPositions& kept, std::int64_t cols, const Body& body) {
  const std::int32_t* row_begin = kept.row_begin.as<std::int32_t>();
  run_pieces(queue, kept.rows(), rows_per_task(kPiece, cols),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row)
                 body(row, std::int64_t{row_begin[row]}, std::int64_t{row_begin[row + 1]});
             });
}

}  // namespace

void find_kept(const FindKeptArgs& args, const Device&, Queue& queue) {
  const std::int64_t R = args.mask.rows(), C = args.mask.cols();
  const std::uint8_t* mask = args.mask.as<std::uint8_t>();
  std::int32_t* row_begin = args.row_begin.as<std::int32_t>();
  std::int32_t* column = args.column.as<std::int32_t>();
  const std::int64_t grain = rows_per_task(kPiece, C);
  run_pieces(queue, R, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      row_begin[row + 1] = static_cast<std::int32_t>(count_kept(mask + row * C, C));
  });
  row_begin[0] = 0;
  for (std::int64_t row = 0; row < R; ++row) row_begin[row + 1] += row_begin[row];
  require(row_begin[R] <= args.column.num_elements(),
          "[find_kept] column must hold the {} kept entries of mask, got {}", row_begin[R],
          args.column.num_elements());
  run_pieces(queue, R, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      list_kept(mask + row * C, C, column + row_begin[row]);
  });
}

void gather_kept(const GatherKeptArgs& args, const Device&, Queue& queue) {
  const std::int64_t C = args.dense.cols();
  const std::int32_t* column = args.kept.column.as<std::int32_t>();
  for_each_row(queue, args.kept, C, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    const float* dense = args.dense.as<float>() + row * C;
    float* values = args.values.as<float>();
    // Not by adding to 0: a copy keeps the sign of a zero.
    if (args.accumulate) {
      for (std::int64_t i = begin; i < end; ++i) values[i] += dense[column[i]];
    } else {
      for (std::int64_t i = begin; i < end; ++i) values[i] = dense[column[i]];
    }
  });
}

void scatter_kept(const ScatterKeptArgs& args, const Device&, Queue& queue) {
  const std::int64_t C = args.dense.cols();
  const std::int32_t* column = args.kept.column.as<std::int32_t>();
  for_each_row(queue, args.kept, C, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    float* dense = args.dense.as<float>() + row * C;
    const float* values = args.values.as<float>();
    for (std::int64_t i = begin; i < end; ++i) dense[column[i]] = values[i];
  });
}

}  // namespace twill::cpu
