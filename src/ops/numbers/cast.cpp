// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/cast.h"

#include "ops/validate.h"

namespace twill {

void validate(const CastArgs& args) {
  require_dtype("cast", {"x", args.x}, DType::kF32);
  require_dtype("cast", {"y", args.y}, DType::kBf16);
  require_shape("cast", {"y", args.y}, args.x.shape());
}

void cast(const Context& context, const CastArgs& args) {
  validate(args);
  context.run("cast", context.kernels().cast, args);
}

}  // namespace twill
