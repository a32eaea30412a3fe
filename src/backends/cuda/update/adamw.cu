// SPDX-License-Identifier: Apache-2.0
// adamw on CUDA: a block takes 8192 elements, four at a time in 16-byte accesses.
//
// Bound by memory: 28 B per element (weight, m and v read and written, grad read; 30 B with an
// operand, 24 B with v frozen, 8 B less with bf16 moments). A thread has 64 B of loads in flight
// (bf16: 48 B), a multiprocessor some 100 KB: three times what hides the latency. Some 40
// instructions per element are a fifth of what fits in that time, and the draws for bf16 moments
// add half as many. Elements are independent: any cut gives the same bits.
#include "ops/update/adamw.h"

#include <cmath>

#include "backends/cuda/device/adamw_element.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "base/rng.h"

namespace twill::cuda {
namespace {

template <bool kFreezeV, class M>
__global__ __launch_bounds__(kAdamwThreads) void adamw_kernel(AdamwCoefficients coefficients,
                                                              AdamwTensors<M> tensors,
                                                              MomentDraws<M> draws,
                                                              std::int64_t count) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * kAdamwPiece;
  adamw_piece<kFreezeV>(coefficients, tensors, draws, NoDecay(), begin,
                        min(begin + kAdamwPiece, count));
}

template <class M>
void run(const AdamwArgs& args, const AdamwCoefficients& coefficients, const MomentDraws<M>& draws,
         Queue& queue) {
  const AdamwTensors<M> tensors{.weight = pointer<float>(args.weight),
                                .grad = pointer<float>(args.grad),
                                .m = pointer<M>(args.m),
                                .v = pointer<M>(args.v),
                                .operand = pointer<__nv_bfloat16>(args.operand)};
  const std::int64_t count = args.weight.num_elements();
  const auto kernel = args.freeze_v ? adamw_kernel<true, M> : adamw_kernel<false, M>;
  const auto blocks = static_cast<unsigned>(ceil_div(count, kAdamwPiece));
  kernel<<<blocks, kAdamwThreads, 0, stream_of(queue)>>>(coefficients, tensors, draws, count);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void adamw(const AdamwArgs& args, const Device&, Queue& queue) {
  TWILL_CHECK(args.weight.dtype() == DType::kF32, "the cuda backend keeps weights in f32");
  if (args.weight.num_elements() == 0) return;
  const auto step = static_cast<double>(args.step);
  const AdamwCoefficients coefficients =
      adamw_coefficients({.lr = args.lr,
                          .beta1 = args.beta1,
                          .beta2 = args.beta2,
                          .eps = args.eps,
                          .weight_decay = args.weight_decay,
                          .grad_scale = args.grad_scale,
                          .correction1 = 1.0 - std::pow(args.beta1, step),
                          .correction2 = 1.0 - std::pow(args.beta2, step)});
  if (args.m.dtype() == DType::kF32) return run<float>(args, coefficients, {}, queue);
  run<__nv_bfloat16>(args, coefficients,
                     {.seed = args.seed,
                      .first_element = args.stream << 40,
                      .step = static_cast<std::uint32_t>(args.step),
                      .purpose = static_cast<std::uint32_t>(Purpose::kMoments)},
                     queue);
}

}  // namespace twill::cuda
