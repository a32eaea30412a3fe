// SPDX-License-Identifier: Apache-2.0
#include "ops/update/adamw.h"

#include "ops/validate.h"

namespace twill {

void require_update_views(std::string_view op, const AdamwArgs& args) {
  const NamedView m{"m", args.m}, v{"v", args.v};
  if (args.m && args.m.dtype() == DType::kBf16) {
    require_one_float_type(op, {{"weight", args.weight}, {"grad", args.grad}});
    require_dtype(op, v, DType::kBf16);
  } else {
    require_one_float_type(op, {{"weight", args.weight}, {"grad", args.grad}, m, v});
  }
  const Shape& shape = args.weight.shape();
  require_shape(op, {"grad", args.grad}, shape);
  require_shape(op, m, shape);
  require_shape(op, v, shape);
  if (!args.operand) return;
  require_dtype(op, {"operand", args.operand}, DType::kBf16);
  require_shape(op, {"operand", args.operand}, shape);
}

void validate(const AdamwArgs& args) {
  require_update_views("adamw", args);
  require(args.step >= 1, "[adamw] step must be 1 or more, got {}", args.step);
  require(args.stream < (std::uint64_t{1} << 24), "[adamw] stream must be below 2^24, got {}",
          args.stream);
}

void adamw(const Context& context, const AdamwArgs& args) {
  validate(args);
  require_stored("adamw", context.kernels(), args.operand);
  require_emits("adamw", context, args.weight, args.emits);
  context.run("adamw", context.kernels().adamw, args);
  emit_behind("adamw", context, args.weight, args.emits);
}

}  // namespace twill
