// SPDX-License-Identifier: Apache-2.0
#include "ops/products/product.h"

#include <algorithm>

#include "ops/products/lowered.h"
#include "ops/validate.h"

namespace twill {
namespace {

using Kind = Parts::Kind;

std::int64_t stacked(const Product& product, Kind kind) {
  return product.parts.kind == kind ? std::max<std::int64_t>(1, product.parts.groups()) : 1;
}

bool halves(const Product& product) {
  return product.epilogue.f == GemmEpilogue::kActivation && is_gated(product.epilogue.activation);
}

void require_lists(const Product& product) {
  const Parts& parts = product.parts;
  require_dtype("product", {"begin", parts.begin}, DType::kI32);
  require(parts.begin.num_elements() >= 1, "[product] begin must have a number more than groups");
  if (parts.kind != Kind::kLiveColumns && parts.kind != Kind::kLiveDepth) return;
  require(parts.tile_rows > 0 && parts.tile_depth > 0, "[product] tiles must have a size");
  require(parts.groups() == (product.m() + parts.tile_rows - 1) / parts.tile_rows,
          "[product] {} lists of live tiles for {} rows in tiles of {}", parts.groups(),
          product.m(), parts.tile_rows);
  if (parts.tiles) require_dtype("product", {"tiles", parts.tiles}, DType::kI32);
}

void require_parts(const Product& product) {
  const Parts& parts = product.parts;
  const Epilogue& epilogue = product.epilogue;
  if (parts.are_all()) return;
  require(!product.trans_c && epilogue.emits.empty() && !epilogue.sums,
          "[product] trans_c, emits and sums go with whole products only");
  const bool adds_up = parts.kind == Kind::kDepthGroups || parts.kind == Kind::kKeptEntries;
  require(!adds_up || (!epilogue.bias && !epilogue.addend && epilogue.f == GemmEpilogue::kNone),
          "[product] bias, addend and activation do not go with groups of K or kept entries");
  if (parts.kind == Kind::kKeptEntries)
    return require(product.trans_a && !product.trans_b,
                   "[product] kept entries are those of aᵀ b: trans_a must be set");
  require_lists(product);
}

// Shapes; an operand's own layout is its decoder's or its kernel's business.
void require_shapes(const Product& product) {
  const std::int64_t m = product.m(), n = product.n(), k = product.k();
  const std::int64_t groups = stacked(product, Kind::kRowGroups);
  const Shape b = product.trans_b ? Shape{groups * n, k} : Shape{groups * k, n};
  require(product.b.rows == b[0] && product.b.cols == b[1], "[product] b must be {}, got {}",
          to_string(b), to_string(Shape{product.b.rows, product.b.cols}));
  if (product.parts.kind == Kind::kKeptEntries) return;
  const std::int64_t c_rows = stacked(product, Kind::kDepthGroups) * m;
  const std::int64_t c_cols = halves(product) ? n / 2 : n;
  require_shape("product", {"c", product.c},
                product.trans_c ? Shape{c_cols, c_rows} : Shape{c_rows, c_cols});
  require_shape("product", {"bias", product.epilogue.bias, true}, {n});
  require_shape("product", {"addend", product.epilogue.addend, true}, {m, n});
  require_shape("product", {"before", product.epilogue.before, true}, {m, n});
  require_shape("product", {"sums", product.epilogue.sums, true}, {n});
}

// Numbers as the kernels behind the front doors take them. A backend that multiplies everything decodes
// the others.
bool has_kernel_types(const KernelTable& kernels, const Product& product) {
  if (kernels.multiply == nullptr) return true;
  const DType type = product.c.dtype();
  const auto has_type = [&](const Operand& operand) {
    return operand.layout == packed() || operand.type == type;
  };
  return has_type(product.a) && has_type(product.b) && (type == DType::kF32 || type == DType::kF64);
}

void run_lowered(const Context& context, const Product& product, Lowered::Kernel kernel) {
  switch (kernel) {
    case Lowered::Kernel::kGemm:
      gemm(context, gemm_of(product));
      if (is_gated_behind_dense(product))
        activation_forward(
            context,
            {.kind = product.epilogue.activation, .x = product.epilogue.before, .y = product.c});
      return;
    case Lowered::Kernel::kTimesPacked:
      return times_packed(context, times_packed_of(product));
    case Lowered::Kernel::kPackedTimes:
      return packed_times(context, packed_times_of(product));
    case Lowered::Kernel::kKeptGradient:
      return kept_gradient(context, kept_gradient_of(product));
    case Lowered::Kernel::kNone:
      break;
  }
}

}  // namespace

std::int64_t Product::m() const { return trans_a ? a.cols : a.rows; }

std::int64_t Product::n() const {
  return trans_b ? b.rows / stacked(*this, Kind::kRowGroups) : b.cols;
}

void validate(const Product& product) {
  require(product.a.layout != nullptr && product.b.layout != nullptr,
          "[product] an operand has no layout");
  require_parts(product);
  require_shapes(product);
  require_emits("product", product.c, product.epilogue.emits);
}

Verdict can_run(const Context& context, const Product& product) {
  validate(product);
  const KernelTable& kernels = context.kernels();
  if (kernels.judge == nullptr)
    return {.reason = std::string("the ") + kernels.name + " backend judges no products"};
  return kernels.judge(product, context.device(), context.queue());
}

void multiply(const Context& context, const Product& product) {
  if (context.observer != nullptr) context.observer->product(context, product);
  const Lowered way = lowered(product);
  // The front doors behind it validate.
  const KernelTable& kernels = context.kernels();
  if (way.kernel != Lowered::Kernel::kNone && has_kernel_types(kernels, product))
    return run_lowered(context, product, way.kernel);
  validate(product);
  if (kernels.multiply == nullptr) fail("[product] {}", can_run(context, product).reason);
  const Verdict verdict = can_run(context, product);
  require(verdict.runs, "[product] {}", verdict.reason);
  if (product.c.num_elements() == 0) return;
  context.run("multiply", kernels.multiply, product);
}

}  // namespace twill
