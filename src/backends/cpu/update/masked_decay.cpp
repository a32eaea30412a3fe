// SPDX-License-Identifier: Apache-2.0
// masked_decay on the cpu. Bound by memory: 13 B per element.
#include "ops/update/masked_decay.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/mask_simd.h"

namespace twill::cpu {

void masked_decay(const MaskedDecayArgs& args, const Device&, Queue& queue) {
  constexpr std::int64_t kPiece = 32768;
  run_pieces(queue, args.target.num_elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
    decay_masked({.target = args.target.as<float>() + begin,
                  .weight = args.weight.as<float>() + begin,
                  .mask = args.mask.as<std::uint8_t>() + begin,
                  .scale = static_cast<float>(args.scale),
                  .rate = static_cast<float>(args.rate)},
                 end - begin);
  });
}

}  // namespace twill::cpu
