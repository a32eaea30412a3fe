// SPDX-License-Identifier: Apache-2.0
// Which products run on CUDA, and by what name: of dense ones cuBLASLt, of packed ones the 2:4 product that
// was chosen, or would be tried first.
#include <algorithm>

#include <fmt/format.h>

#include "backends/cuda/kernels.h"
#include "backends/cuda/sparse_products/sparse_products.h"
#include "backends/cuda/sparsity_kernels.h"
#include "ops/products/lowered.h"
#include "ops/products/product.h"

namespace twill::cuda {
namespace {

// "gelu", "gelu'": of the activation of an epilogue.
std::string activation_text(const Epilogue& epilogue) {
  return fmt::format("{}{}", activation_name(epilogue.activation),
                     epilogue.f == GemmEpilogue::kActivation ? "" : "'");
}

bool is_plain_type(DType type) { return type == DType::kF32 || type == DType::kBf16; }

// Tensor cores take 8-bit operands along K only: a as (M, K), b as (N, K).
bool lies_along_k(const Product& product) { return !product.trans_a && product.trans_b; }

std::string unsuitable(const Product& product) {
  for (const Operand* operand : {&product.a, &product.b})
    if (operand->layout != row_major() && operand->layout != packed())
      return fmt::format("cuda has no kernel for operands that lie {}", operand->layout->name);
  if (is_fp8(product.a.type) || is_fp8(product.b.type))
    return lies_along_k(product) ? "8-bit operands have no kernel on cuda yet"
                                 : "8-bit operands must lie along K";
  for (const DType type : {product.a.type, product.b.type, product.c.dtype()})
    if (!is_plain_type(type))
      return fmt::format("cuda multiplies f32 and bf16, not {}", name_of(type));
  return {};
}

Verdict dense_verdict(const Product& product) {
  Verdict verdict{.runs = true, .kernel = "cuda: cuBLASLt"};
  const Epilogue& epilogue = product.epilogue;
  if (epilogue.f == GemmEpilogue::kNone) return verdict;
  const bool is_gated = is_gated_behind_dense(product);
  if (!is_gated && gemm_fuses(gemm_of(product))) {
    verdict.kernel += fmt::format(" with {} where that is quicker", activation_text(epilogue));
    return verdict;
  }
  verdict.kernel += fmt::format(", then {}", activation_text(epilogue));
  verdict.reason = "cuBLASLt has only the gradient of tanh-GELU inside, of whole vectors of bf16";
  return verdict;
}

Verdict packed_verdict(const std::string& way, const Epilogue& epilogue, bool is_fused) {
  if (way.empty())
    return {.runs = true,
            .kernel = "cuda: unpacked, then cuBLASLt",
            .reason = "no 2:4 product takes these operands: sides in eights, 16-byte addresses"};
  Verdict verdict{.runs = true, .kernel = fmt::format("cuda: 2:4 {}", way)};
  if (epilogue.f == GemmEpilogue::kNone) return verdict;
  verdict.kernel += fmt::format("{} {}", is_fused ? " with" : ", then", activation_text(epilogue));
  if (!is_fused)
    verdict.reason = "no 2:4 product has this activation inside, or two steps are quicker";
  return verdict;
}

}  // namespace

Verdict judge(const Product& product, const Device& device, Queue& queue) {
  if (const std::string why = unsuitable(product); !why.empty()) return {.reason = why};
  const Lowered way = lowered(product);
  switch (way.kernel) {
    case Lowered::Kernel::kGemm:
      return dense_verdict(product);
    case Lowered::Kernel::kTimesPacked: {
      const TimesPackedArgs args = times_packed_of(product);
      const std::string fused = fused_way_of(args, device, queue);
      return fused.empty() ? packed_verdict(way_of(args, device, queue), product.epilogue, false)
                           : packed_verdict(fused, product.epilogue, true);
    }
    case Lowered::Kernel::kPackedTimes:
      return packed_verdict(way_of(packed_times_of(product), device, queue), {}, false);
    case Lowered::Kernel::kKeptGradient:
      return {.reason = "cuda has no gradient of kept entries alone"};
    case Lowered::Kernel::kNone:
      break;
  }
  return {.reason = fmt::format("on cuda {}", way.reason)};
}

}  // namespace twill::cuda
