// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/targets.h"

#include "ops/validate.h"

namespace twill {
namespace {

void require_number(const char* op, const NamedView& view) {
  require_dtype(op, view, DType::kF64);
  require_shape(op, view, {1});
}

}  // namespace

void validate(const CountTargetsArgs& args) {
  require_dtype("count_targets", {"targets", args.targets}, DType::kI32);
  require_number("count_targets", {"count", args.count});
}

void count_targets(const Context& context, const CountTargetsArgs& args) {
  validate(args);
  context.run("count_targets", context.kernels().count_targets, args);
}

void validate(const AddMeanArgs& args) {
  require_number("add_mean", {"sum", args.sum});
  require_number("add_mean", {"count", args.count});
  require_number("add_mean", {"mean", args.mean});
}

void add_mean(const Context& context, const AddMeanArgs& args) {
  validate(args);
  context.run("add_mean", context.kernels().add_mean, args);
}

}  // namespace twill
