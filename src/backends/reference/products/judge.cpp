// SPDX-License-Identifier: Apache-2.0
#include "backends/reference/kernels.h"
#include "ops/products/lowered.h"
#include "ops/products/product.h"

namespace twill::reference {
namespace {

bool has_decoder(const Operand& operand) {
  return operand.layout == packed() || operand.layout->decode != nullptr;
}

Verdict without_decoder(const Operand& operand) {
  return {.reason = std::string("the reference has no decoder for operands that lie ") +
                    operand.layout->name};
}

// What the naive ops behind gemm and the products without zeros read: one type on all sides, not bf16.
bool has_types_of_ops(const Product& product) {
  const DType type = product.c.dtype();
  const auto has_type = [&](const Operand& operand) {
    return operand.layout == packed() || operand.type == type;
  };
  return has_type(product.a) && has_type(product.b) && (type == DType::kF32 || type == DType::kF64);
}

}  // namespace

bool takes(const Product& product, const Device&) {
  return lowered(product).kernel == Lowered::Kernel::kNone || !has_types_of_ops(product);
}

Verdict judge(const Product& product, const Device& device, Queue&) {
  if (!has_decoder(product.a)) return without_decoder(product.a);
  if (!has_decoder(product.b)) return without_decoder(product.b);
  if (product.epilogue.f != GemmEpilogue::kNone && product.c.dtype() != DType::kF32 &&
      product.c.dtype() != DType::kF64)
    return {.reason = std::string("the reference activates f32 and f64, not ") +
                      name_of(product.c.dtype())};
  return {.runs = true,
          .kernel = takes(product, device) ? "reference: both sides decoded to f64"
                                           : "reference: naive, f64 sums"};
}

}  // namespace twill::reference
