// SPDX-License-Identifier: Apache-2.0
#include "ops/packed_times.h"

#include "ops/validate.h"

namespace twill {

void validate(const PackedTimesArgs& args) {
  require_one_float_type("packed_times", {{"b", args.b}, {"c", args.c}});
  require(args.b.shape().rank() == 2 && args.c.shape().rank() == 2,
          "[packed_times] b and c must be matrices, got {}, {}", to_string(args.b.shape()),
          to_string(args.c.shape()));
  require_shape("packed_times", {"b", args.b}, {args.k(), args.n()});
  require_packed("packed_times", args.packed, args.m(), args.k());
}

void packed_times(const Context& context, const PackedTimesArgs& args) {
  validate(args);
  if (args.c.num_elements() == 0) return;
  context.run("packed_times", context.kernels().packed_times, args);
}

}  // namespace twill
