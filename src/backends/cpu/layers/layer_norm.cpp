// SPDX-License-Identifier: Apache-2.0
// Layer normalisation on the cpu. Rows are cut into pieces of about 16384 elements. The gradients
// of weight and bias are summed before dx is written (dx may be dy), by strips of 64 columns: each
// task adds all rows of its strip, so there is no scratch and the order is fixed.
//
// Bound by memory: 8 B per element forward; 20 B backward, of which the second reading of x and dy
// comes from the last-level cache at usual sizes.
#include "ops/layers/layer_norm.h"

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/layers/norm_simd.h"
#include "backends/cpu/products/operand.h"
#include "backends/cpu/queue.h"
#include "ops/numbers/column_sum.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // some 10 us of work
constexpr std::int64_t kStrip = 64;     // four cache lines of each row, four AVX-512 vectors

}  // namespace

void layer_norm_forward(const LayerNormForwardArgs& args, const Device&, Queue& queue) {
  const NormForward norm{.x = data_of(args.x),
                         .weight = data_of(args.weight),
                         .bias = data_of(args.bias),
                         .y = data_of(args.y),
                         .mean = data_of(args.mean),
                         .rstd = data_of(args.rstd),
                         .cols = args.x.cols(),
                         .eps = args.eps};
  run_pieces(queue, args.x.rows(), rows_per_task(kPiece, norm.cols),
             [&](std::int64_t begin, std::int64_t end) { layer_norm_rows(norm, begin, end); });
}

void layer_norm_backward(const LayerNormBackwardArgs& args, const Device& device, Queue& queue) {
  const NormBackward norm{.x = data_of(args.x),
                          .weight = data_of(args.weight),
                          .mean = data_of(args.mean),
                          .rstd = data_of(args.rstd),
                          .dy = data_of(args.dy),
                          .dx = data_of(args.dx),
                          .dweight = data_of(args.dweight),
                          .dbias = data_of(args.dbias),
                          .rows = args.x.rows(),
                          .cols = args.x.cols(),
                          .accumulate_dx = args.accumulate_dx};
  run_pieces(queue, norm.cols, kStrip, [&](std::int64_t begin, std::int64_t end) {
    if (!args.accumulate) {
      std::fill(norm.dweight + begin, norm.dweight + end, 0.0f);
      if (norm.dbias != nullptr) std::fill(norm.dbias + begin, norm.dbias + end, 0.0f);
    }
    norm_dweight_columns(norm, begin, end);
  });
  run_pieces(queue, norm.rows, rows_per_task(kPiece, norm.cols),
             [&](std::int64_t begin, std::int64_t end) { layer_norm_dx_rows(norm, begin, end); });
  if (args.dx_sum)
    column_sum({.x = args.dx, .sum = args.dx_sum, .accumulate = args.accumulate}, device, queue);
}

}  // namespace twill::cpu
