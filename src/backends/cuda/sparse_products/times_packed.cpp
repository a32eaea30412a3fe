// SPDX-License-Identifier: Apache-2.0
// times_packed on CUDA: P is A of a product on sparse tensor cores, tokens run along N, and the result is
// token-major because it is stored with M inside. tanh-GELU, squared ReLU and their gradients are computed
// inside where that is quicker than behind. So are gated activations, out of two products: the values'
// rows of P, then the gates', whose epilogue reads the value; P's halves must be whole atoms for that.
// Operands that the copy engine refuses (odd addresses) are multiplied dense.
#include "ops/products/times_packed.h"

#include <functional>
#include <optional>

#include "backends/cuda/kernels.h"
#include "backends/cuda/layers/activation_slope.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/sparse_products/sparse_call.h"
#include "backends/cuda/sparse_products/sparse_products.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

SparseProduct product_of(const TimesPackedArgs& args) {
  SparseProduct product = sparse_product(args.packed);
  product.n = args.m();
  product.b = args.x.bytes();
  product.d = args.c.bytes();
  product.bias = args.bias ? args.bias.bytes() : nullptr;
  product.addend = args.addend ? args.addend.bytes() : nullptr;
  product.before = args.before ? args.before.bytes() : nullptr;
  return product;
}

void sum(const TimesPackedArgs& args, const Device& device, Queue& queue) {
  if (is_aligned({args.x, args.c, args.bias, args.addend}) &&
      run_sparse(SparseEpilogue::kSum, product_of(args), device, queue))
    return;
  gemm({.a = args.x,
        .b = unpacked_scratch(args.packed, device, queue),
        .c = args.c,
        .trans_b = true,
        .bias = args.bias,
        .addend = args.addend},
       device, queue);
}

struct FusedActivation {
  Activation activation;
  GemmEpilogue where;
  SparseEpilogue epilogue;
  bool keeps_slope = false;
};
constexpr FusedActivation kFused[] = {
    {Activation::kGeluTanh, GemmEpilogue::kActivation, SparseEpilogue::kGeluSlope, true},
    {Activation::kGeluTanh, GemmEpilogue::kActivationGradient, SparseEpilogue::kTimesSlope, true},
    {Activation::kGeluTanh, GemmEpilogue::kActivation, SparseEpilogue::kGelu},
    {Activation::kGeluTanh, GemmEpilogue::kActivationGradient, SparseEpilogue::kGeluGradient},
    {Activation::kRelu2, GemmEpilogue::kActivation, SparseEpilogue::kRelu2},
    {Activation::kRelu2, GemmEpilogue::kActivationGradient, SparseEpilogue::kRelu2Gradient},
    {Activation::kSwiglu, GemmEpilogue::kActivation, SparseEpilogue::kSwiglu},
    {Activation::kGeglu, GemmEpilogue::kActivation, SparseEpilogue::kGeglu},
    {Activation::kGegluTanh, GemmEpilogue::kActivation, SparseEpilogue::kGegluTanh},
};

std::optional<SparseEpilogue> fused_epilogue(const TimesPackedArgs& args) {
  const bool fits = !args.addend && (args.epilogue == GemmEpilogue::kActivation || !args.bias) &&
                    is_aligned({args.x, args.c, args.bias, args.before});
  for (const FusedActivation& fused : kFused)
    if (fits && fused.activation == args.activation && fused.where == args.epilogue &&
        fused.keeps_slope == args.keeps_slope)
      return fused.epilogue;
  return std::nullopt;
}

// The product of half of P's rows, the values or the gates; its sums go to their half of before.
std::optional<SparseProduct> half_product(const TimesPackedArgs& args, std::int64_t row) {
  std::optional<SparseProduct> half = sparse_product(args.packed, row, args.n() / 2);
  if (!half) return std::nullopt;
  constexpr std::int64_t kBytes = 2;  // of a bf16
  half->n = args.m();
  half->b = args.x.bytes();
  half->bias = args.bias ? args.bias.bytes() + row * kBytes : nullptr;
  half->before = args.before.bytes() + row * kBytes;
  half->before_pitch = args.n();
  return half;
}

bool run_gated(SparseEpilogue epilogue, const TimesPackedArgs& args, const Device& device,
               Queue& queue, const std::function<void()>& in_two_steps) {
  std::optional<SparseProduct> values = half_product(args, 0);
  std::optional<SparseProduct> gates = half_product(args, args.n() / 2);
  if (!values || !gates) return false;
  values->d = values->before;
  values->d_pitch = values->before_pitch;
  gates->value = values->before;
  gates->d = args.c.bytes();
  return run_sparse_fused(epilogue, *gates, device, queue, in_two_steps,
                          [&] { return run_sparse(SparseEpilogue::kSum, *values, device, queue); });
}

// Behind a product that is summed up.
void activate(const TimesPackedArgs& args, const Device& device, Queue& queue) {
  if (args.epilogue == GemmEpilogue::kActivation)
    return activation_forward(activation_of(args), device, queue);
  if (args.keeps_slope) return times_slope(args.c, args.before, device, queue);
  activation_backward(gradient_of(args), device, queue);
}

}  // namespace

std::string way_of(const TimesPackedArgs& args, const Device& device, Queue& queue) {
  const TimesPackedArgs sums = sum_of(args);
  if (!is_aligned({sums.x, sums.c, sums.bias, sums.addend})) return {};
  return sparse_way_name(SparseEpilogue::kSum, product_of(sums), device, queue);
}

std::string fused_way_of(const TimesPackedArgs& args, const Device& device, Queue& queue) {
  const std::optional<SparseEpilogue> epilogue =
      args.epilogue == GemmEpilogue::kNone ? std::nullopt : fused_epilogue(args);
  if (!epilogue) return {};
  if (!args.halves()) return sparse_way_name(*epilogue, product_of(args), device, queue);
  const std::optional<SparseProduct> gates = half_product(args, args.n() / 2);
  return gates ? sparse_way_name(*epilogue, *gates, device, queue) : std::string();
}

void times_packed(const TimesPackedArgs& args, const Device& device, Queue& queue) {
  if (args.epilogue == GemmEpilogue::kNone) return sum(args, device, queue);
  const auto in_two_steps = [&] {
    sum(sum_of(args), device, queue);
    activate(args, device, queue);
  };
  const std::optional<SparseEpilogue> epilogue = fused_epilogue(args);
  const bool is_done =
      epilogue &&
      (args.halves() ? run_gated(*epilogue, args, device, queue, in_two_steps)
                     : run_sparse_fused(*epilogue, product_of(args), device, queue, in_two_steps));
  if (!is_done) in_two_steps();
}

}  // namespace twill::cuda
