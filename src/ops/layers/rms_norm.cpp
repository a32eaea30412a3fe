// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/rms_norm.h"

#include "ops/validate.h"

namespace twill {

void validate(const RmsNormForwardArgs& args) {
  require_float_types("rms_norm", {{"x", args.x}, {"weight", args.weight}, {"y", args.y}},
                      {{"rstd", args.rstd}});
  require(args.x.cols() > 0, "[rms_norm] the last axis of x must not be empty");
  require_shape("rms_norm", {"weight", args.weight}, {args.x.cols()});
  require_shape("rms_norm", {"y", args.y}, args.x.shape());
  require_shape("rms_norm", {"rstd", args.rstd}, {args.x.rows()});
}

void validate(const RmsNormBackwardArgs& args) {
  require_float_types(
      "rms_norm", {{"x", args.x}, {"weight", args.weight}, {"dy", args.dy}, {"dx", args.dx}},
      {{"rstd", args.rstd}, {"dweight", args.dweight}, {"dx_sum", args.dx_sum, true}});
  require(args.x.cols() > 0, "[rms_norm] the last axis of x must not be empty");
  require_shape("rms_norm", {"weight", args.weight}, {args.x.cols()});
  require_shape("rms_norm", {"rstd", args.rstd}, {args.x.rows()});
  require_shape("rms_norm", {"dy", args.dy}, args.x.shape());
  require_shape("rms_norm", {"dx", args.dx}, args.x.shape());
  require_shape("rms_norm", {"dweight", args.dweight}, {args.x.cols()});
  require_shape("rms_norm", {"dx_sum", args.dx_sum, true}, {args.x.cols()});
}

void rms_norm_forward(const Context& context, const RmsNormForwardArgs& args) {
  validate(args);
  require_stored("rms_norm", context.kernels(), args.x);
  require_emits("rms_norm", context, args.y, args.emits);
  context.run("rms_norm_forward", context.kernels().rms_norm_forward, args);
  emit_behind("rms_norm", context, args.y, args.emits);
}

void rms_norm_backward(const Context& context, const RmsNormBackwardArgs& args) {
  validate(args);
  require_stored("rms_norm", context.kernels(), args.x);
  context.run("rms_norm_backward", context.kernels().rms_norm_backward, args);
}

}  // namespace twill
