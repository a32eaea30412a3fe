// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/fp8.h"

#include "ops/validate.h"

namespace twill {

void validate(const Fp8RoundArgs& args) {
  require_float_types("fp8_round", {{"x", args.x}, {"y", args.y}}, {});
  require_shape("fp8_round", {"y", args.y}, args.x.shape());
}

void fp8_round(const Context& context, const Fp8RoundArgs& args) {
  validate(args);
  require_stored("fp8_round", context.kernels(), args.x);
  context.run("fp8_round", context.kernels().fp8_round, args);
}

}  // namespace twill
