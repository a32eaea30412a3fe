// SPDX-License-Identifier: Apache-2.0
// select24 on the cpu: pieces of 16384 elements, a network of six comparisons per group.
//
// Bound by memory: 5 B per element.
#include "ops/selection/select24.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/selection24_simd.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // a multiple of four, so that no group is cut

}  // namespace

void select24(const Select24Args& args, const Device&, Queue& queue) {
  const float* x = args.x.as<float>();
  std::uint8_t* mask = args.mask.as<std::uint8_t>();
  if (args.axis == GroupAxis::kWithinRow) {
    run_pieces(queue, args.x.num_elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
      select24_within_row(x + begin, mask + begin, end - begin);
    });
    return;
  }
  const std::int64_t C = args.x.cols();
  run_pieces(queue, args.x.rows() / 4, rows_per_task(kPiece, 4 * C),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = 4 * C * begin; i < 4 * C * end; i += 4 * C)
                 select24_within_columns(x + i, mask + i, C, C);
             });
}

}  // namespace twill::cpu
