// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/sum.h"

#include "ops/validate.h"

namespace twill {

void validate(const SumArgs& args) {
  require_one_float_type("sum", {{"x", args.x}});
  require_dtype("sum", {"sum", args.sum}, DType::kF64);
  require_shape("sum", {"sum", args.sum}, {1});
}

void sum(const Context& context, const SumArgs& args) {
  validate(args);
  context.run("sum", context.kernels().sum, args);
}

}  // namespace twill
