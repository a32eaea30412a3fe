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

}  // namespace

Verdict judge(const Product& product, const Device&, Queue&) {
  if (!has_decoder(product.a)) return without_decoder(product.a);
  if (!has_decoder(product.b)) return without_decoder(product.b);
  if (product.epilogue.f != GemmEpilogue::kNone && product.c.dtype() != DType::kF32 &&
      product.c.dtype() != DType::kF64)
    return {.reason = std::string("the reference activates f32 and f64, not ") +
                      name_of(product.c.dtype())};
  const bool is_known = lowered(product).kernel != Lowered::Kernel::kNone;
  return {
      .runs = true,
      .kernel = is_known ? "reference: naive, f64 sums" : "reference: both sides decoded to f64"};
}

}  // namespace twill::reference
