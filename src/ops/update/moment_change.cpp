// SPDX-License-Identifier: Apache-2.0
#include "ops/update/moment_change.h"

#include "ops/validate.h"

namespace twill {

void validate(const MomentChangeArgs& args) {
  require_one_float_type("moment_change", {{"grad", args.grad}, {"v", args.v}});
  require_shape("moment_change", {"v", args.v}, args.grad.shape());
  require_dtype("moment_change", {"sum", args.sum}, DType::kF64);
  require_shape("moment_change", {"sum", args.sum}, {1});
}

void moment_change(const Context& context, const MomentChangeArgs& args) {
  validate(args);
  context.run("moment_change", context.kernels().moment_change, args);
}

}  // namespace twill
