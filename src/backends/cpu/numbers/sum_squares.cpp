// SPDX-License-Identifier: Apache-2.0
// sum_squares on the cpu: at most 256 blocks of equal size, each summed in f64, then the blocks in
// ascending order.
//
// Bound by memory: 4 B per element. The cut depends on the number of elements alone.
#include "ops/numbers/sum_squares.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "backends/cpu/kernels.h"
#include "backends/cpu/numbers/reduce_simd.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kMaxBlocks = 256;   // their sums fit on the stack
constexpr std::int64_t kMinBlock = 16384;  // 64 KB: some 5 us of reads

}  // namespace

void sum_squares(const SumSquaresArgs& args, const Device&, Queue& queue) {
  const std::int64_t n = args.x.num_elements();
  const std::int64_t block = std::max(kMinBlock, (n + kMaxBlocks - 1) / kMaxBlocks);
  std::array<double, kMaxBlocks> sums{};
  const float* x = args.x.as<float>();
  run_pieces(queue, n, block, [&](std::int64_t begin, std::int64_t end) {
    sums[static_cast<std::size_t>(begin / block)] = sum_of_squares(x + begin, end - begin);
  });
  *args.sum.as<double>() = std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace twill::cpu
