// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/select24.h"

#include "ops/validate.h"

namespace twill {

void validate(const Select24Args& args) {
  require_float_types("select24", {{"x", args.x}}, {});
  require(args.x.shape().rank() == 2, "[select24] x must have shape (R, C), got {}",
          to_string(args.x.shape()));
  require_bytes("select24", {"mask", args.mask}, args.x.shape());
  const bool within_row = args.axis == GroupAxis::kWithinRow;
  const std::int64_t grouped = within_row ? args.x.cols() : args.x.rows();
  require(grouped % 4 == 0, "[select24] {} must be a multiple of 4, got {}",
          within_row ? "cols" : "rows", grouped);
}

void select24(const Context& context, const Select24Args& args) {
  validate(args);
  require_stored("select24", context.kernels(), args.x);
  context.run("select24", context.kernels().select24, args);
}

}  // namespace twill
