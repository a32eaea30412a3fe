// SPDX-License-Identifier: Apache-2.0
// transposable24 on the cpu. Exact: one block per lane; 24 sums of pairs, 72 of half blocks, then 90
// additions with a running maximum: about 480 vector instructions for 16 blocks with AVX-512.
// Greedy: eight rounds of the largest entry that may still be kept, some 160 instructions each.
#include "ops/selection/transposable24.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/selection24_simd.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // elements

}  // namespace

void transposable24(const Transposable24Args& args, const Device&, Queue& queue) {
  const std::int64_t C = args.x.cols();
  const float* x = args.x.as<float>();
  std::uint8_t* mask = args.mask.as<std::uint8_t>();
  const auto search =
      args.method == TransposableMethod::kExact ? best_transposable24 : greedy_transposable24;
  run_pieces(queue, args.x.rows() / 4, rows_per_task(kPiece, 4 * C),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = 4 * C * begin; i < 4 * C * end; i += 4 * C)
                 search(x + i, mask + i, C, C);
             });
}

}  // namespace twill::cpu
