// SPDX-License-Identifier: Apache-2.0
// AdamW on the cpu: pieces of 32 Ki elements.
//
// Bound by memory: 28 B per element (weight, m and v read and written, grad read). Elements are
// independent: any cut gives the same bits.
#include "ops/adamw.h"

#include <cmath>

#include "backends/cpu/adamw_simd.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 32768;  // 512 KB over four tensors: some 40 us

AdamwCoefficients coefficients(const AdamwArgs& args) {
  const auto f32 = [](double value) { return static_cast<float>(value); };
  const auto step = static_cast<double>(args.step);
  return {.grad_scale = f32(args.grad_scale),
          .beta1 = f32(args.beta1),
          .one_minus_beta1 = f32(1.0 - args.beta1),
          .beta2 = f32(args.beta2),
          .one_minus_beta2 = f32(1.0 - args.beta2),
          .inverse_correction1 = f32(1.0 / (1.0 - std::pow(args.beta1, step))),
          .inverse_correction2 = f32(1.0 / (1.0 - std::pow(args.beta2, step))),
          .eps = f32(args.eps),
          .lr = f32(args.lr),
          .weight_decay = f32(args.weight_decay),
          .freeze_v = args.freeze_v};
}

}  // namespace

void adamw(const AdamwArgs& args, const Device&, Queue& queue) {
  const AdamwCoefficients c = coefficients(args);
  const AdamwTensors tensors{.weight = args.weight.as<float>(),
                             .grad = args.grad.as<float>(),
                             .m = args.m.as<float>(),
                             .v = args.v.as<float>()};
  run_pieces(queue, args.weight.num_elements(), kPiece,
             [&](std::int64_t begin, std::int64_t end) { adamw_range(c, tensors, begin, end); });
}

}  // namespace twill::cpu
