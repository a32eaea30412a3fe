// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/layer_norm.h"

#include "ops/validate.h"

namespace twill {

void validate(const LayerNormForwardArgs& args) {
  require_float_types(
      "layer_norm",
      {{"x", args.x}, {"weight", args.weight}, {"bias", args.bias, true}, {"y", args.y}},
      {{"mean", args.mean}, {"rstd", args.rstd}});
  const Shape rows{args.x.rows()}, cols{args.x.cols()};
  require(args.x.cols() > 0, "[layer_norm] the last axis of x must not be empty");
  require_shape("layer_norm", {"weight", args.weight}, cols);
  require_shape("layer_norm", {"bias", args.bias, true}, cols);
  require_shape("layer_norm", {"y", args.y}, args.x.shape());
  require_shape("layer_norm", {"mean", args.mean}, rows);
  require_shape("layer_norm", {"rstd", args.rstd}, rows);
}

void validate(const LayerNormBackwardArgs& args) {
  require_float_types("layer_norm",
                      {{"x", args.x}, {"weight", args.weight}, {"dy", args.dy}, {"dx", args.dx}},
                      {{"mean", args.mean},
                       {"rstd", args.rstd},
                       {"dweight", args.dweight},
                       {"dbias", args.dbias, true},
                       {"dx_sum", args.dx_sum, true}});
  const Shape rows{args.x.rows()}, cols{args.x.cols()};
  require(args.x.cols() > 0, "[layer_norm] the last axis of x must not be empty");
  require_shape("layer_norm", {"weight", args.weight}, cols);
  require_shape("layer_norm", {"mean", args.mean}, rows);
  require_shape("layer_norm", {"rstd", args.rstd}, rows);
  require_shape("layer_norm", {"dy", args.dy}, args.x.shape());
  require_shape("layer_norm", {"dx", args.dx}, args.x.shape());
  require_shape("layer_norm", {"dweight", args.dweight}, cols);
  require_shape("layer_norm", {"dbias", args.dbias, true}, cols);
  require_shape("layer_norm", {"dx_sum", args.dx_sum, true}, cols);
}

void layer_norm_forward(const Context& context, const LayerNormForwardArgs& args) {
  validate(args);
  require_stored("layer_norm", context.kernels(), args.x);
  require_emits("layer_norm", context, args.y, args.emits);
  context.run("layer_norm_forward", context.kernels().layer_norm_forward, args);
  emit_behind("layer_norm", context, args.y, args.emits);
}

void layer_norm_backward(const Context& context, const LayerNormBackwardArgs& args) {
  validate(args);
  require_stored("layer_norm", context.kernels(), args.x);
  context.run("layer_norm_backward", context.kernels().layer_norm_backward, args);
}

}  // namespace twill
