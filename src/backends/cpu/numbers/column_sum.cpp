// SPDX-License-Identifier: Apache-2.0
// column_sum on the cpu: a task owns a strip of 64 columns and adds all its rows, so there is no
// scratch and no second stage.
//
// Bound by memory: 4 B per element. The order of additions depends on the number of rows alone.
#include "ops/numbers/column_sum.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/numbers/reduce_simd.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kStrip = 64;  // four cache lines of each row, four AVX-512 vectors

}  // namespace

void column_sum(const ColumnSumArgs& args, const Device&, Queue& queue) {
  const std::int64_t cols = args.x.cols();
  run_pieces(queue, cols, kStrip, [&](std::int64_t begin, std::int64_t end) {
    sum_columns({.x = args.x.as<float>(),
                 .rows = args.x.rows(),
                 .cols = cols,
                 .begin = begin,
                 .end = end,
                 .sum = args.sum.as<float>(),
                 .accumulate = args.accumulate});
  });
}

}  // namespace twill::cpu
