// SPDX-License-Identifier: Apache-2.0
// fill on the cpu: pieces of 64 Ki elements; bound by memory writes.
#include "ops/numbers/fill.h"

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 65536;  // 256 KB: some 20 us of writes

}  // namespace

void fill(const FillArgs& args, const Device&, Queue& queue) {
  float* x = args.x.as<float>();
  const auto value = static_cast<float>(args.value);
  run_pieces(queue, args.x.num_elements(), kPiece,
             [&](std::int64_t begin, std::int64_t end) { std::fill(x + begin, x + end, value); });
}

}  // namespace twill::cpu
