// SPDX-License-Identifier: Apache-2.0
#include "ops/adamw.h"

#include "ops/validate.h"

namespace twill {

void validate(const AdamwArgs& args) {
  require_one_float_type(
      "adamw", {{"weight", args.weight}, {"grad", args.grad}, {"m", args.m}, {"v", args.v}});
  const Shape& shape = args.weight.shape();
  require_shape("adamw", {"grad", args.grad}, shape);
  require_shape("adamw", {"m", args.m}, shape);
  require_shape("adamw", {"v", args.v}, shape);
  if (args.operand) {
    require_dtype("adamw", {"operand", args.operand}, DType::kBf16);
    require_shape("adamw", {"operand", args.operand}, shape);
  }
  require(args.step >= 1, "[adamw] step must be 1 or more, got {}", args.step);
}

void adamw(const Context& context, const AdamwArgs& args) {
  validate(args);
  require_stored("adamw", context.kernels(), args.operand);
  context.run("adamw", context.kernels().adamw, args);
}

}  // namespace twill
