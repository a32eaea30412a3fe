// SPDX-License-Identifier: Apache-2.0
// Dropout on the cpu: pieces of 16384 elements, one philox call per four of them, eight calls per
// AVX-512 vector.
//
// Bound by the ten rounds of philox. The mask is a function of the element's number, so any cut
// gives the same bits, and they equal the scalar formula of the contract.
#include "ops/layers/dropout.h"

#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/numbers/pointwise_simd.h"
#include "backends/cpu/products/operand.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // about 15 us; a multiple of four, as a philox call

}  // namespace

void dropout(const DropoutArgs& args, const Device&, Queue& queue) {
  // unit_float(bits) >= p  <=>  bits >> 8 >= p 2^24; the product is exact, so rounding up is too.
  const DropoutMask mask{.seed = args.seed,
                         .step = args.step_at
                                     ? static_cast<std::uint32_t>(*args.step_at.as<std::int32_t>())
                                     : args.step,
                         .first_element = args.stream << 40,
                         .threshold = static_cast<std::uint32_t>(std::ceil(args.p * 0x1p24))};
  run_pieces(queue, args.x.num_elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
    dropout_range({.mask = mask,
                   .scale = static_cast<float>(1.0 / (1.0 - args.p)),
                   .x = args.x.as<float>(),
                   .addend = data_of(args.addend),
                   .y = args.y.as<float>(),
                   .begin = begin,
                   .end = end});
  });
}

}  // namespace twill::cpu
