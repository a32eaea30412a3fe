// SPDX-License-Identifier: Apache-2.0
#include "ops/fill.h"

#include "ops/validate.h"

namespace twill {

void validate(const FillArgs& args) { require_one_float_type("fill", {{"x", args.x}}); }

void fill(const Context& context, const FillArgs& args) {
  validate(args);
  context.run("fill", context.kernels().fill, args);
}

}  // namespace twill
