// SPDX-License-Identifier: Apache-2.0
// Which products run on the cpu, and by what name.
#include <fmt/format.h>

#include "backends/cpu/describe.h"
#include "backends/cpu/kernels.h"
#include "ops/products/lowered.h"
#include "ops/products/product.h"

namespace twill::cpu {
namespace {

// "bf16", or nothing where everything is f32.
std::string other_type(const Product& product) {
  for (const DType type : {product.a.type, product.b.type, product.c.dtype()})
    if (type != DType::kF32) return name_of(type);
  return {};
}

std::string unknown_layout(const Product& product) {
  for (const Operand* operand : {&product.a, &product.b})
    if (operand->layout != row_major() && operand->layout != packed()) return operand->layout->name;
  return {};
}

Verdict dense_verdict(const Product& product) {
  Verdict verdict{.runs = true, .kernel = "cpu: oneDNN sgemm"};
  const Epilogue& epilogue = product.epilogue;
  if (epilogue.f == GemmEpilogue::kNone) return verdict;
  const char* f = activation_name(epilogue.activation);
  const bool is_forward = epilogue.f == GemmEpilogue::kActivation;
  verdict.kernel += fmt::format(", then {}{}", f, is_forward ? "" : "'");
  verdict.reason = "oneDNN's sgemm has no activation inside";
  return verdict;
}

Verdict packed_verdict(const Product& product, const PackedShape& shape, const char* order) {
  Verdict verdict{
      .runs = true,
      .kernel = fmt::format("cpu: {}, {}, {}", order, pattern_name(shape.pattern), simd_name())};
  const Epilogue& epilogue = product.epilogue;
  if (epilogue.f == GemmEpilogue::kNone) return verdict;
  const char* f = activation_name(epilogue.activation);
  if (is_gated(epilogue.activation)) {
    verdict.kernel += fmt::format(", then {}", f);
    verdict.reason = "a gated activation needs value and gate, which are of different blocks";
  } else {
    verdict.kernel +=
        fmt::format(" with {}{}", f, epilogue.f == GemmEpilogue::kActivation ? "" : "'");
  }
  return verdict;
}

}  // namespace

Verdict judge(const Product& product, const Device&, Queue&) {
  if (const std::string layout = unknown_layout(product); !layout.empty())
    return {.reason = fmt::format("the cpu has no kernel for operands that lie {}", layout)};
  if (const std::string type = other_type(product); !type.empty())
    return {.reason = fmt::format("the cpu multiplies f32, not {}", type)};
  const Lowered way = lowered(product);
  switch (way.kernel) {
    case Lowered::Kernel::kGemm:
      return dense_verdict(product);
    case Lowered::Kernel::kTimesPacked:
      if (product.epilogue.keeps_slope) return {.reason = "the cpu keeps no slopes of activations"};
      return packed_verdict(product, product.b.packed, "dense x packed");
    case Lowered::Kernel::kPackedTimes:
      return packed_verdict(product, product.a.packed, "packed x dense");
    case Lowered::Kernel::kKeptGradient:
      return {.runs = true, .kernel = fmt::format("cpu: kept entries alone, {}", simd_name())};
    case Lowered::Kernel::kNone:
      break;
  }
  return {.reason = fmt::format("on the cpu {}", way.reason)};
}

}  // namespace twill::cpu
