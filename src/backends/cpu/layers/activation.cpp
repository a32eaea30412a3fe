// SPDX-License-Identifier: Apache-2.0
// Activations on the cpu: pieces of 16384 elements (plain) or of whole rows (gated), in any order.
//
// Bound by arithmetic in cache and by memory beyond it: 8 B per element forward, 12 B backward.
// Elements are independent: any cut gives the same bits.
#include "ops/layers/activation.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/layers/activation_simd.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

// About 15 us of work: a hundred times what handing out a piece costs.
constexpr std::int64_t kPiece = 16384;

}  // namespace

void activation_forward(const ActivationForwardArgs& args, const Device&, Queue& queue) {
  const float* x = args.x.as<float>();
  float* y = args.y.as<float>();
  if (!is_gated(args.kind))
    return run_pieces(queue, args.x.num_elements(), kPiece,
                      [&](std::int64_t begin, std::int64_t end) {
                        activate(args.kind, x + begin, y + begin, end - begin);
                      });
  const std::int64_t cols = args.y.cols();
  run_pieces(queue, args.y.rows(), rows_per_task(kPiece, cols),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row)
                 activate_gated(args.kind, x + row * 2 * cols, y + row * cols, cols);
             });
}

void activation_backward(const ActivationBackwardArgs& args, const Device&, Queue& queue) {
  const float* x = args.x.as<float>();
  const float* dy = args.dy.as<float>();
  float* dx = args.dx.as<float>();
  if (!is_gated(args.kind))
    return run_pieces(
        queue, args.x.num_elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
          activate_backward(args.kind, x + begin, dy + begin, dx + begin, end - begin);
        });
  const std::int64_t cols = args.dy.cols();
  run_pieces(queue, args.dy.rows(), rows_per_task(kPiece, cols),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row)
                 activate_gated_backward(args.kind, x + row * 2 * cols, dy + row * cols,
                                         dx + row * 2 * cols, cols);
             });
}

}  // namespace twill::cpu
