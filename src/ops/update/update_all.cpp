// SPDX-License-Identifier: Apache-2.0
#include "ops/update/update_all.h"

#include <algorithm>
#include <cmath>

#include "ops/update/adamw.h"
#include "ops/validate.h"

namespace twill {

bool pulls_weights(std::span<const UpdateTensor> tensors) {
  return std::ranges::any_of(tensors,
                             [](const UpdateTensor& one) { return one.mask && one.pulls_weight; });
}

namespace {

void require_table(std::span<const UpdateTensor> tensors, ConstView table) {
  const std::int64_t needed = update_table_bytes(static_cast<std::int64_t>(tensors.size()));
  require_bytes("update_all", {"table", table}, {needed});
  for (const UpdateTensor& tensor : tensors) {
    require_update_views("update_all", {.weight = tensor.weight,
                                        .grad = tensor.grad,
                                        .m = tensor.m,
                                        .v = tensor.v,
                                        .operand = tensor.operand});
    require_dtype("update_all", {"m", tensor.m}, tensors.front().m.dtype());
    require_bytes("update_all", {"mask", tensor.mask, true}, tensor.weight.shape());
    require(std::isfinite(tensor.decay), "[update_all] decay must be finite, got {}", tensor.decay);
    require(!tensor.mask || tensor.pulls_weight == pulls_weights(tensors),
            "[update_all] pulls_weight must be the same in all tensors that have a mask");
  }
}

void require_f64(const NamedView& view, std::int64_t count) {
  require_dtype("update_all", view, DType::kF64);
  require_shape("update_all", view, {count});
}

}  // namespace

void prepare_update(const Context& context, const PrepareUpdateArgs& args) {
  require_table(args.tensors, args.table);
  context.run("prepare_update", context.kernels().prepare_update, args);
}

void norm_all(const Context& context, const NormAllArgs& args) {
  require_f64({"norm2", args.norm2}, 1);
  require_f64({"partials", args.partials}, kNormPartials);
  context.run("norm_all", context.kernels().norm_all, args);
}

void adamw_all(const Context& context, const AdamwAllArgs& args) {
  require_f64({"norm2", args.norm2}, 1);
  require_f64({"scalars", args.scalars}, kUpdateScalars);
  for (const EmitArgs& one : args.emits) require_emits("adamw_all", context, one.x, one.emits);
  context.run("adamw_all", context.kernels().adamw_all, args);
  for (const EmitArgs& one : args.emits) emit_behind("adamw_all", context, one.x, one.emits);
}

}  // namespace twill
