// SPDX-License-Identifier: Apache-2.0
// RMS normalisation on the cpu, cut like layer_norm.cpp: pieces of whole rows, and strips of 64
// columns for dweight, which come first because dx may be dy.
//
// Bound by memory: 8 B per element forward, 20 B backward. The order of sums depends on the shape
// alone.
#include "ops/layers/rms_norm.h"

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

void rms_norm_forward(const RmsNormForwardArgs& args, const Device&, Queue& queue) {
  const NormForward norm{.x = data_of(args.x),
                         .weight = data_of(args.weight),
                         .bias = nullptr,
                         .y = data_of(args.y),
                         .mean = nullptr,
                         .rstd = data_of(args.rstd),
                         .cols = args.x.cols(),
                         .eps = args.eps};
  run_pieces(queue, args.x.rows(), rows_per_task(kPiece, norm.cols),
             [&](std::int64_t begin, std::int64_t end) { rms_norm_rows(norm, begin, end); });
}

void rms_norm_backward(const RmsNormBackwardArgs& args, const Device& device, Queue& queue) {
  const NormBackward norm{.x = data_of(args.x),
                          .weight = data_of(args.weight),
                          .mean = nullptr,
                          .rstd = data_of(args.rstd),
                          .dy = data_of(args.dy),
                          .dx = data_of(args.dx),
                          .dweight = data_of(args.dweight),
                          .dbias = nullptr,
                          .rows = args.x.rows(),
                          .cols = args.x.cols(),
                          .accumulate_dx = args.accumulate_dx};
  run_pieces(queue, norm.cols, kStrip, [&](std::int64_t begin, std::int64_t end) {
    if (!args.accumulate) std::fill(norm.dweight + begin, norm.dweight + end, 0.0f);
    norm_dweight_columns(norm, begin, end);
  });
  run_pieces(queue, norm.rows, rows_per_task(kPiece, norm.cols),
             [&](std::int64_t begin, std::int64_t end) { rms_norm_dx_rows(norm, begin, end); });
  if (args.dx_sum)
    column_sum({.x = args.dx, .sum = args.dx_sum, .accumulate = args.accumulate}, device, queue);
}

}  // namespace twill::cpu
