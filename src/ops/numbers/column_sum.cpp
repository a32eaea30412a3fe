// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/column_sum.h"

#include "ops/validate.h"

namespace twill {

void validate(const ColumnSumArgs& args) {
  require_float_types("column_sum", {{"x", args.x}}, {{"sum", args.sum}});
  require_shape("column_sum", {"sum", args.sum}, {args.x.cols()});
}

void column_sum(const Context& context, const ColumnSumArgs& args) {
  validate(args);
  require_stored("column_sum", context.kernels(), args.x);
  context.run("column_sum", context.kernels().column_sum, args);
}

}  // namespace twill
