// SPDX-License-Identifier: Apache-2.0
#include "ops/products/lowered.h"

namespace twill {
namespace {

using Kernel = Lowered::Kernel;

Lowered declined(const char* reason) { return {.kernel = Kernel::kNone, .reason = reason}; }

Lowered kept_entries(const Product& product) {
  if (product.a.layout != row_major() || product.b.layout != row_major())
    return declined("the gradient of kept entries takes plain operands");
  return {.kernel = Kernel::kKeptGradient};
}

Lowered dense_product(const Product& product) {
  if (product.trans_c) return declined("a product of plain matrices is not stored transposed");
  if (product.epilogue.keeps_slope)
    return declined("only products with packed weights keep the slope of an activation");
  return {.kernel = Kernel::kGemm};
}

Lowered times_packed(const Product& product) {
  if (!product.trans_b || product.trans_a || product.trans_c || product.accumulates)
    return declined("a packed b is multiplied as x Pᵀ: transposed, with a and c as they lie, once");
  return {.kernel = Kernel::kTimesPacked};
}

Lowered packed_times(const Product& product) {
  if (product.trans_a || product.epilogue.f != GemmEpilogue::kNone)
    return declined("a packed a is multiplied as P b: not transposed, without an activation");
  return {.kernel = Kernel::kPackedTimes};
}

}  // namespace

Lowered lowered(const Product& product) {
  const Epilogue& epilogue = product.epilogue;
  if (!epilogue.emits.empty() || epilogue.sums)
    return declined("no product writes further copies or sums of its result");
  if (!product.a.scale.is_one() || !product.b.scale.is_one())
    return declined("operands with a scale have no kernel");
  if (is_fp8(product.a.type) || is_fp8(product.b.type))
    return declined("8-bit operands have no kernel");
  if (product.parts.kind == Parts::Kind::kKeptEntries) return kept_entries(product);
  if (!product.parts.are_all()) return declined("groups and live tiles have no kernel");
  const bool plain_a = product.a.layout == row_major(), plain_b = product.b.layout == row_major();
  if (plain_a && plain_b) return dense_product(product);
  if (plain_a && product.b.layout == packed()) return times_packed(product);
  if (plain_b && product.a.layout == packed()) return packed_times(product);
  return declined("no kernel takes two operands in these layouts");
}

bool is_gated_behind_dense(const Product& product) {
  return product.epilogue.f == GemmEpilogue::kActivation && is_gated(product.epilogue.activation) &&
         product.b.layout == row_major();
}

GemmArgs gemm_of(const Product& product) {
  const Epilogue& epilogue = product.epilogue;
  const bool is_gated_behind = is_gated_behind_dense(product);
  return {.a = product.a.data,
          .b = product.b.data,
          .c = is_gated_behind ? epilogue.before : product.c,
          .trans_a = product.trans_a,
          .trans_b = product.trans_b,
          .bias = epilogue.bias,
          .addend = epilogue.addend,
          .accumulate = product.accumulates,
          .epilogue = is_gated_behind ? GemmEpilogue::kNone : epilogue.f,
          .activation = epilogue.activation,
          .before = is_gated_behind ? View() : epilogue.before};
}

TimesPackedArgs times_packed_of(const Product& product) {
  const Epilogue& epilogue = product.epilogue;
  return {.x = product.a.data,
          .packed = product.b.packed_matrix(),
          .c = product.c,
          .bias = epilogue.bias,
          .addend = epilogue.addend,
          .epilogue = epilogue.f,
          .activation = epilogue.activation,
          .before = epilogue.before,
          .keeps_slope = epilogue.keeps_slope};
}

PackedTimesArgs packed_times_of(const Product& product) {
  return {.packed = product.a.packed_matrix(),
          .b = product.b.data,
          .c = product.c,
          .trans_b = product.trans_b,
          .trans_c = product.trans_c,
          .accumulate = product.accumulates,
          .bias = product.epilogue.bias,
          .addend = product.epilogue.addend};
}

KeptGradientArgs kept_gradient_of(const Product& product) {
  return {.dy = product.a.data,
          .x = product.b.data,
          .kept = product.parts.kept,
          .values = product.c,
          .accumulate = product.accumulates};
}

const char* activation_name(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu-tanh";
    case Activation::kRelu2:
      return "relu2";
    case Activation::kSwiglu:
      return "swiglu";
    case Activation::kGeglu:
      return "geglu";
    case Activation::kGegluTanh:
      return "geglu-tanh";
  }
  return "?";
}

const char* pattern_name(PackedPattern pattern) {
  switch (pattern) {
    case PackedPattern::kTransposable24:
      return "transposable 2:4";
    case PackedPattern::k24:
      return "2:4";
    case PackedPattern::kAny:
      return "kept entries";
  }
  return "?";
}

}  // namespace twill
