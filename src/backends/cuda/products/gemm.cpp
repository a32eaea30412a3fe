// SPDX-License-Identifier: Apache-2.0
// gemm on CUDA: cuBLASLt, with bias, addend, accumulation and the gradient of tanh-GELU inside its
// one call. Bound by the tensor cores (f32: by FMAs, never TF32). Which of the library's algorithms
// runs, products.h says; what the library refuses, our own kernel computes.
//
// GELU itself is not computed inside: the library applies it to the sum before that is rounded, and
// c must be f of what `before` holds, so that it can be computed from there once more.
#include "ops/products/gemm.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include <fmt/format.h>

#include "backends/cuda/kernels.h"
#include "backends/cuda/products/gemm_fallback.h"
#include "backends/cuda/products/product_search.h"
#include "backends/cuda/products/products.h"
#include "backends/cuda/runtime/launch.h"
#include "base/log.h"

namespace twill::cuda {
namespace {

// Up to so many multiply-adds any kernel takes as long as its launch, unless a single sum is long.
constexpr std::int64_t kTinyWork = 4096;
constexpr std::int64_t kTinyDepth = 256;

// The product alone, written to c or added to it.
GemmArgs bare(const GemmArgs& args, bool accumulate) {
  return {.a = args.a,
          .b = args.b,
          .c = args.c,
          .trans_a = args.trans_a,
          .trans_b = args.trans_b,
          .accumulate = accumulate};
}

bool is_tiny(const GemmArgs& args) {
  return args.k() <= kTinyDepth && args.m() * args.n() * args.k() <= kTinyWork;
}

// The library adds one matrix, and a bias of the type of c.
bool is_one_call(const GemmArgs& args) {
  const bool adds_two = args.addend && args.accumulate;
  return !adds_two && (!args.bias || args.bias.dtype() == args.c.dtype());
}

// A bf16 c that is added to and has an addend: the library would round between the two, and the
// contract grants no rounding there. No layer asks for it.
void run_plain(const GemmArgs& args, const Device& device, Queue& queue) {
  if (is_large(args) && products_of(queue).warns_of_plain_kernel())
    log_warning(
        fmt::format("{}: a bf16 result that accumulates and has an addend is computed by a "
                    "plain kernel, many times slower; accumulate in f32, or leave one out",
                    name_of(args)));
  gemm_fallback(args, device, queue);
}

void product(const GemmArgs& args, const Device& device, Queue& queue) {
  if (args.k() == 0 || is_tiny(args)) return gemm_fallback(args, device, queue);
  if (!is_one_call(args)) {
    // An f32 c can hold the other terms while it waits; in bf16 that would round twice.
    if (args.c.dtype() != DType::kF32) return run_plain(args, device, queue);
    gemm_terms(args, device, queue);
    return product(bare(args, true), device, queue);
  }
  if (!products_of(queue).run(args, cuda_queue(queue))) gemm_fallback(args, device, queue);
}

bool all_bf16(std::initializer_list<ConstView> views) {
  return std::ranges::all_of(
      views, [](const ConstView& view) { return !view || view.dtype() == DType::kBf16; });
}

}  // namespace

// The library knows the gradient of kGeluTanh and of no other activation of ours, without a bias;
// addends are left to the two steps. Whether the product then is quicker with it,
// Products::settle_epilogue() decides.
bool gemm_fuses(const GemmArgs& args) {
  return args.epilogue == GemmEpilogue::kActivationGradient &&
         args.activation == Activation::kGeluTanh && args.before && !args.accumulate &&
         !args.addend && !args.bias && all_bf16({args.a, args.b, args.c, args.before}) &&
         args.m() % 8 == 0 && args.n() % 8 == 0 && args.k() % 8 == 0 &&
         is_aligned({args.a, args.b, args.c, args.before});
}

void gemm(const GemmArgs& args, const Device& device, Queue& queue) {
  if (args.m() == 0 || args.n() == 0) return;
  if (args.epilogue == GemmEpilogue::kNone) return product(args, device, queue);
  TWILL_CHECK(gemm_fuses(args), "an epilogue that gemm does not fuse");
  const auto in_two_steps = [&] {
    product(sum_of(args), device, queue);
    activation_backward(gradient_of(args), device, queue);
  };
  if (args.k() == 0) return in_two_steps();
  Products& products = products_of(queue);
  products.settle_epilogue(args, cuda_queue(queue), in_two_steps);
  if (!products.run(args, cuda_queue(queue))) in_two_steps();
}

void plain_gemm(const GemmArgs& args, const Device& device, Queue& queue) {
  if (args.m() == 0 || args.n() == 0) return;
  const GemmArgs plain = bare(args, args.accumulate);
  const bool is_done = args.k() > 0 && products_of(queue).run_first_guess(plain, cuda_queue(queue));
  if (!is_done) gemm_fallback(plain, device, queue);
}

}  // namespace twill::cuda
