// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/activation.h"

#include "ops/validate.h"

namespace twill {
namespace {

void require_widths(Activation kind, const ConstView& x, const NamedView& y) {
  const std::int64_t factor = is_gated(kind) ? 2 : 1;
  require(x.rows() == y.view.rows() && x.cols() == factor * y.view.cols(),
          "[activation] x must have the rows of {} and {} time(s) its columns, got {} and {}",
          y.name, factor, to_string(x.shape()), to_string(y.view.shape()));
}

}  // namespace

void validate(const ActivationForwardArgs& args) {
  require_float_types("activation", {{"x", args.x}, {"y", args.y}, {"slope", args.slope, true}},
                      {});
  require_widths(args.kind, args.x, {"y", args.y});
  require_shape("activation", {"slope", args.slope, true}, args.x.shape());
  require(!args.slope || !is_gated(args.kind),
          "[activation] a gated activation has two slopes: leave `slope` empty");
}

void validate(const ActivationBackwardArgs& args) {
  require_float_types("activation", {{"x", args.x}, {"dy", args.dy}, {"dx", args.dx}}, {});
  require_widths(args.kind, args.x, {"dy", args.dy});
  require_shape("activation", {"dx", args.dx}, args.x.shape());
}

void activation_forward(const Context& context, const ActivationForwardArgs& args) {
  validate(args);
  require_stored("activation", context.kernels(), args.x);
  require(!args.slope || context.kernels().keeps_slopes,
          "[activation] {} keeps no slopes of activations: leave `slope` empty",
          context.kernels().name);
  require_emits("activation", context, args.y, args.emits);
  context.run("activation_forward", context.kernels().activation_forward, args);
  emit_behind("activation", context, args.y, args.emits);
}

void activation_backward(const Context& context, const ActivationBackwardArgs& args) {
  validate(args);
  require_stored("activation", context.kernels(), args.x);
  require_emits("activation", context, args.dx, args.emits);
  context.run("activation_backward", context.kernels().activation_backward, args);
  emit_behind("activation", context, args.dx, args.emits);
}

}  // namespace twill
