// SPDX-License-Identifier: Apache-2.0
#include "ops/products/packed_times.h"

#include "ops/validate.h"

namespace twill {

void validate(const PackedTimesArgs& args) {
  // The gradient of a weight.
  const bool widens =
      args.b.dtype() == DType::kBf16 && args.c.dtype() == DType::kF32 && !args.bias && !args.addend;
  if (!widens)
    require_float_types(
        "packed_times",
        {{"b", args.b}, {"c", args.c}, {"bias", args.bias, true}, {"addend", args.addend, true}},
        {});
  require(args.b.shape().rank() == 2 && args.c.shape().rank() == 2,
          "[packed_times] b and c must be matrices, got {}, {}", to_string(args.b.shape()),
          to_string(args.c.shape()));
  require_shape("packed_times", {"b", args.b},
                args.trans_b ? Shape{args.n(), args.k()} : Shape{args.k(), args.n()});
  require_shape("packed_times", {"bias", args.bias, true}, {args.n()});
  require_shape("packed_times", {"addend", args.addend, true}, {args.m(), args.n()});
  require(!(args.bias || args.addend) || !(args.trans_c || args.accumulate),
          "[packed_times] bias and addend do not go with trans_c or accumulate");
  require_packed("packed_times", args.packed, args.m(), args.k(), args.b.dtype());
}

void packed_times(const Context& context, const PackedTimesArgs& args) {
  validate(args);
  if (args.c.num_elements() == 0) return;
  require_stored("packed_times", context.kernels(), args.b);
  context.run("packed_times", context.kernels().packed_times, args);
}

}  // namespace twill
