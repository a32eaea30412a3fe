// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/dropout.h"

#include "ops/validate.h"

namespace twill {

void validate(const DropoutArgs& args) {
  require_float_types("dropout", {{"x", args.x}, {"addend", args.addend, true}, {"y", args.y}}, {});
  require_shape("dropout", {"addend", args.addend, true}, args.x.shape());
  require_shape("dropout", {"y", args.y}, args.x.shape());
  if (args.step_at) require_dtype("dropout", {"step_at", args.step_at}, DType::kI32);
  require_shape("dropout", {"step_at", args.step_at, true}, {1});
  require(args.p >= 0.0 && args.p < 1.0, "[dropout] p must be 0 or more and below 1, got {}",
          args.p);
  require(args.stream < (std::uint64_t{1} << 24), "[dropout] stream must be below 2^24, got {}",
          args.stream);
  require(args.x.num_elements() <= (std::int64_t{1} << 42),
          "[dropout] x must have at most 2^42 elements, got {}", args.x.num_elements());
}

void dropout(const Context& context, const DropoutArgs& args) {
  validate(args);
  require_stored("dropout", context.kernels(), args.x);
  context.run("dropout", context.kernels().dropout, args);
}

}  // namespace twill
