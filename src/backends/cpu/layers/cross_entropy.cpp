// SPDX-License-Identifier: Apache-2.0
// Cross-entropy on the cpu: rows are cut into pieces of about 16384 elements, at least one row
// each.
//
// Bound by exp and by memory: logits are read and the gradient is written once. Rows are
// independent: any cut gives the same bits.
#include "ops/layers/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/layers/cross_entropy_simd.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // some 15 us of work
constexpr std::int32_t kIgnored = -1;

double scale_of(const CrossEntropyArgs& args) {
  if (!args.count) return args.scale;
  const double count = *args.count.as<double>();
  return count > 0.0 ? args.scale / count : 0.0;
}

void run_row(const CrossEntropyArgs& args, double scale, std::int64_t row) {
  const std::int64_t V = args.logits.cols();
  const std::int32_t target = args.targets.as<std::int32_t>()[row];
  float* dlogits = args.dlogits ? args.dlogits.as<float>() + row * V : nullptr;
  float* loss = args.loss.as<float>() + row;
  std::int32_t* best = args.best ? args.best.as<std::int32_t>() + row : nullptr;
  if (target == kIgnored) {
    *loss = 0.0f;
    if (best != nullptr) *best = -1;
    if (dlogits != nullptr) std::fill_n(dlogits, V, 0.0f);
    return;
  }
  // Before the gradient: it may be written over the logits.
  const float* logits = args.logits.as<float>() + row * V;
  if (best != nullptr) *best = largest_id(logits, V);
  *loss = cross_entropy_row(logits, target, V, dlogits, scale);
  if (best != nullptr && std::isnan(*loss)) *best = -1;
}

}  // namespace

void cross_entropy(const CrossEntropyArgs& args, const Device&, Queue& queue) {
  const double scale = scale_of(args);
  run_pieces(queue, args.logits.rows(), rows_per_task(kPiece, args.logits.cols()),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) run_row(args, scale, row);
             });
}

}  // namespace twill::cpu
