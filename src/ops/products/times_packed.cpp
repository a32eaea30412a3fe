// SPDX-License-Identifier: Apache-2.0
#include "ops/products/times_packed.h"

#include "ops/validate.h"

namespace twill {

TimesPackedArgs sum_of(const TimesPackedArgs& args) {
  TimesPackedArgs sum = args;
  if (args.epilogue == GemmEpilogue::kActivation) sum.c = args.before;
  sum.epilogue = GemmEpilogue::kNone;
  sum.before = {};
  return sum;
}

ActivationForwardArgs activation_of(const TimesPackedArgs& args) {
  return {.kind = args.activation,
          .x = args.before,
          .y = args.c,
          .slope = args.keeps_slope ? args.before : View()};
}

ActivationBackwardArgs gradient_of(const TimesPackedArgs& args) {
  return {.kind = args.activation, .x = args.before, .dy = args.c, .dx = args.c};
}

void validate(const TimesPackedArgs& args) {
  require_float_types("times_packed",
                      {{"x", args.x},
                       {"c", args.c},
                       {"bias", args.bias, true},
                       {"addend", args.addend, true},
                       {"before", args.before, true}},
                      {});
  require(args.x.shape().rank() == 2 && args.c.shape().rank() == 2,
          "[times_packed] x and c must be matrices, got {}, {}", to_string(args.x.shape()),
          to_string(args.c.shape()));
  require_shape("times_packed", {"x", args.x}, {args.m(), args.k()});
  require_packed("times_packed", args.packed, args.n(), args.k(), args.x.dtype());
  require(args.packed.shape.side == PackedSide::kRight,
          "[times_packed] the packed matrix lies for packed_times: its side must be kRight");
  require_shape("times_packed", {"bias", args.bias, true}, {args.n()});
  require_shape("times_packed", {"addend", args.addend, true}, {args.m(), args.n()});
  if (args.epilogue == GemmEpilogue::kNone) return;
  require(args.halves() || !is_gated(args.activation),
          "[times_packed] the gradient of a gated activation is no epilogue");
  require(static_cast<bool>(args.before) || args.c.num_elements() == 0,
          "[times_packed] before is missing");
  require_shape("times_packed", {"before", args.before, true}, {args.m(), args.n()});
  require(!args.keeps_slope || !is_gated(args.activation),
          "[times_packed] a gated activation has two slopes: keeps_slope must be false");
}

void times_packed(const Context& context, const TimesPackedArgs& args) {
  validate(args);
  if (args.c.num_elements() == 0) return;
  require_stored("times_packed", context.kernels(), args.x);
  require(!args.keeps_slope || context.kernels().keeps_slopes,
          "[times_packed] {} keeps no slopes of activations: keeps_slope must be false",
          context.kernels().name);
  context.run("times_packed", context.kernels().times_packed, args);
}

}  // namespace twill
