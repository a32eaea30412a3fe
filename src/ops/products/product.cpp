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

// An activation has one `before`, as (M, N), and its sums are not those of another product as well.
void require_epilogue(const Product& product) {
  const Epilogue& epilogue = product.epilogue;
  const bool has_f = epilogue.f != GemmEpilogue::kNone;
  require(!has_f || epilogue.before, "[product] an activation needs `before`");
  require(!has_f || (!product.trans_c && !product.accumulates),
          "[product] an activation goes neither with trans_c nor with accumulates");
  require(epilogue.f != GemmEpilogue::kActivationGradient || !is_gated(epilogue.activation),
          "[product] the gradient of a gated activation is an op of its own");
  require(product.parts.kind != Kind::kLiveColumns || !halves(product),
          "[product] a gated activation needs whole rows, not live columns");
  require(!product.trans_c || !epilogue.sums, "[product] sums do not go with trans_c");
  if (epilogue.sums)
    require(epilogue.sums.dtype() == DType::kF32 || epilogue.sums.dtype() == DType::kF64,
            "[product] sums must be f32 or f64, got {}", name_of(epilogue.sums.dtype()));
  for (const Operand* operand : {&product.a, &product.b}) {
    if (!operand->scale.at) continue;
    require_dtype("product", {"scale", operand->scale.at}, DType::kF32);
    require_shape("product", {"scale", operand->scale.at}, {1});
  }
}

// Shapes; an operand's own layout is its decoder's or its kernel's business.
void require_shapes(const Product& product) {
  const std::int64_t m = product.m(), n = product.n(), k = product.k();
  const std::int64_t groups = stacked(product, Kind::kRowGroups);
  const Shape b = product.trans_b ? Shape{groups * n, k} : Shape{groups * k, n};
  require(product.b.rows == b[0] && product.b.cols == b[1], "[product] b must be {}, got {}",
          to_string(b), to_string(Shape{product.b.rows, product.b.cols}));
  if (product.parts.kind == Kind::kKeptEntries)
    return require_shape("product", {"c", product.c}, {product.parts.kept.count()});
  const std::int64_t c_rows = stacked(product, Kind::kDepthGroups) * m;
  const std::int64_t c_cols = halves(product) ? n / 2 : n;
  require_shape("product", {"c", product.c},
                product.trans_c ? Shape{c_cols, c_rows} : Shape{c_rows, c_cols});
  require_shape("product", {"bias", product.epilogue.bias, true}, {n});
  require_shape("product", {"addend", product.epilogue.addend, true}, {m, n});
  require_shape("product", {"before", product.epilogue.before, true}, {m, n});
  require_shape("product", {"sums", product.epilogue.sums, true}, {n});
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
  require_epilogue(product);
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
  const KernelTable& kernels = context.kernels();
  if (kernels.takes != nullptr && kernels.takes(product, context.device())) {
    validate(product);
    if (product.c.num_elements() > 0) context.run("multiply", kernels.multiply, product);
    return;
  }
  const Lowered way = lowered(product);
  if (way.kernel == Lowered::Kernel::kNone) fail("[product] {}", can_run(context, product).reason);
  run_lowered(context, product, way.kernel);  // the front doors behind it validate
}

}  // namespace twill
