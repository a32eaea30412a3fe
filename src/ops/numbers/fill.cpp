// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/fill.h"

#include "ops/validate.h"

namespace twill {

void validate(const FillArgs& args) { require_float_types("fill", {{"x", args.x}}, {}); }

void fill(const Context& context, const FillArgs& args) {
  validate(args);
  require_stored("fill", context.kernels(), args.x);
  context.run("fill", context.kernels().fill, args);
}

}  // namespace twill
