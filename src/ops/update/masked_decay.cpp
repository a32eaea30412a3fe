// SPDX-License-Identifier: Apache-2.0
#include "ops/update/masked_decay.h"

#include <cmath>

#include "ops/validate.h"

namespace twill {

void validate(const MaskedDecayArgs& args) {
  require_one_float_type("masked_decay", {{"target", args.target}, {"weight", args.weight}});
  require_shape("masked_decay", {"weight", args.weight}, args.target.shape());
  require_bytes("masked_decay", {"mask", args.mask}, args.target.shape());
  require(std::isfinite(args.scale), "[masked_decay] scale must be finite, got {}", args.scale);
  require(std::isfinite(args.rate), "[masked_decay] rate must be finite, got {}", args.rate);
}

void masked_decay(const Context& context, const MaskedDecayArgs& args) {
  validate(args);
  context.run("masked_decay", context.kernels().masked_decay, args);
}

}  // namespace twill
