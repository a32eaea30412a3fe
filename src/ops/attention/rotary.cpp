// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/rotary.h"

#include "ops/validate.h"

namespace twill {

void validate(const RotaryArgs& args) {
  require_float_types("rotary", {{"x", args.x}}, {});
  require(args.x.shape().rank() == 4, "[rotary] x must have shape (B, T, heads, D), got {}",
          to_string(args.x.shape()));
  require(args.x.cols() % 2 == 0, "[rotary] the head dimension must be even, got {}",
          args.x.cols());
  require(args.num_rotated >= 0 && args.num_rotated <= args.x.shape()[2],
          "[rotary] num_rotated must be 0 to {}, got {}", args.x.shape()[2], args.num_rotated);
  require(args.first_position >= 0, "[rotary] first_position must be at least 0, got {}",
          args.first_position);
  require(args.theta > 0.0, "[rotary] theta must be positive, got {}", args.theta);
}

void rotary(const Context& context, const RotaryArgs& args) {
  validate(args);
  require_stored("rotary", context.kernels(), args.x);
  context.run("rotary", context.kernels().rotary, args);
}

}  // namespace twill
