// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/cross_entropy.h"

#include "ops/validate.h"

namespace twill {

void validate(const CrossEntropyArgs& args) {
  require_float_types("cross_entropy", {{"logits", args.logits}, {"dlogits", args.dlogits, true}},
                      {{"loss", args.loss}});
  require_dtype("cross_entropy", {"targets", args.targets}, DType::kI32);
  require(args.logits.cols() > 0, "[cross_entropy] the vocabulary must not be empty");
  require_shape("cross_entropy", {"targets", args.targets}, {args.logits.rows()});
  require_shape("cross_entropy", {"loss", args.loss}, {args.logits.rows()});
  if (args.count) {
    require_dtype("cross_entropy", {"count", args.count}, DType::kF64);
    require_shape("cross_entropy", {"count", args.count}, {1});
  }
  if (args.best) {
    require_dtype("cross_entropy", {"best", args.best}, DType::kI32);
    require_shape("cross_entropy", {"best", args.best}, {args.logits.rows()});
  }
  require_shape("cross_entropy", {"dlogits", args.dlogits, true}, args.logits.shape());
}

void cross_entropy(const Context& context, const CrossEntropyArgs& args) {
  validate(args);
  require_stored("cross_entropy", context.kernels(), args.logits);
  context.run("cross_entropy", context.kernels().cross_entropy, args);
}

}  // namespace twill
