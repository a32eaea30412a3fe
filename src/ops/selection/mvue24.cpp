// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/mvue24.h"

#include "ops/validate.h"

namespace twill {

void validate(const Mvue24Args& args) {
  require_float_types("mvue24", {{"x", args.x}, {"y", args.y}}, {});
  require(args.x.shape().rank() == 2, "[mvue24] x must have two dimensions, got {}",
          to_string(args.x.shape()));
  require_shape("mvue24", {"y", args.y}, args.x.shape());
  if (args.mask) require_dtype("mvue24", {"mask", args.mask}, DType::kU8);
  require_shape("mvue24", {"mask", args.mask, true}, args.x.shape());
  if (args.step_at) require_dtype("mvue24", {"step_at", args.step_at}, DType::kI32);
  require(args.stream < (1u << 24), "[mvue24] stream must be below 2^24, got {}", args.stream);
  require(args.first_token >= 0 && args.first_token % 16 == 0,
          "[mvue24] first_token must be a multiple of 16, got {}", args.first_token);
  require(args.first_token + args.x.shape()[0] <= std::int64_t{1} << 36,
          "[mvue24] x must have at most 2^36 tokens, got {}", args.first_token + args.x.shape()[0]);
  require(args.x.shape()[1] <= std::int64_t{1} << 32,
          "[mvue24] x must have at most 2^32 channels, got {}", args.x.shape()[1]);
}

void mvue24(const Context& context, const Mvue24Args& args) {
  validate(args);
  require_stored("mvue24", context.kernels(), args.x);
  context.run("mvue24", context.kernels().mvue24, args);
}

}  // namespace twill
