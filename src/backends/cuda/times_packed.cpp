// SPDX-License-Identifier: Apache-2.0
// times_packed on CUDA: P is A of a product on sparse tensor cores, tokens run along N, and the result is
// token-major because it is stored with M inside. tanh-GELU and its gradient are computed inside where
// that is quicker than behind. Operands that the copy engine refuses (odd addresses) are multiplied dense.
#include "ops/times_packed.h"

#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/sparse_products.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

GemmArgs as_gemm(const TimesPackedArgs& args, ConstView dense) {
  return {.a = args.x,
          .b = dense,
          .c = args.c,
          .trans_b = true,
          .bias = args.bias,
          .addend = args.addend,
          .epilogue = args.epilogue,
          .activation = args.activation,
          .before = args.before};
}

SparseProduct product_of(const TimesPackedArgs& args, View result) {
  SparseProduct product = sparse_product(args.packed);
  product.n = args.m();
  product.b = args.x.bytes();
  product.d = result.bytes();
  product.bias = args.bias ? args.bias.bytes() : nullptr;
  product.addend = args.addend ? args.addend.bytes() : nullptr;
  product.before = args.before ? args.before.bytes() : nullptr;
  return product;
}

void sum(const TimesPackedArgs& args, View result, const Device& device, Queue& queue) {
  if (is_aligned({args.x, result, args.bias, args.addend}) &&
      run_sparse(SparseEpilogue::kSum, product_of(args, result), device, queue))
    return;
  GemmArgs plain = as_gemm(args, unpacked_scratch(args.packed, device, queue));
  plain.c = result;
  plain.epilogue = GemmEpilogue::kNone;
  gemm(plain, device, queue);
}

}  // namespace

void times_packed(const TimesPackedArgs& args, const Device& device, Queue& queue) {
  if (args.epilogue == GemmEpilogue::kNone) return sum(args, args.c, device, queue);
  const bool is_forward = args.epilogue == GemmEpilogue::kActivation;
  const auto in_two_steps = [&] {
    sum(args, is_forward ? args.before : args.c, device, queue);
    const GemmArgs steps = as_gemm(args, {});
    if (is_forward)
      activation_forward(activation_of(steps), device, queue);
    else
      activation_backward(gradient_of(steps), device, queue);
  };
  const bool fuses = args.activation == Activation::kGeluTanh && !args.addend &&
                     (is_forward || !args.bias) &&
                     is_aligned({args.x, args.c, args.bias, args.before});
  if (fuses && run_sparse_fused(is_forward ? SparseEpilogue::kGelu : SparseEpilogue::kGeluGradient,
                                product_of(args, args.c), device, queue, in_two_steps))
    return;
  in_two_steps();
}

}  // namespace twill::cuda
