// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/sum_squares.h"

#include "ops/validate.h"

namespace twill {

void validate(const SumSquaresArgs& args) {
  require_one_float_type("sum_squares", {{"x", args.x}});
  require_dtype("sum_squares", {"sum", args.sum}, DType::kF64);
  require_shape("sum_squares", {"sum", args.sum}, {1});
}

void sum_squares(const Context& context, const SumSquaresArgs& args) {
  validate(args);
  context.run("sum_squares", context.kernels().sum_squares, args);
}

}  // namespace twill
