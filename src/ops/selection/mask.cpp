// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/mask.h"

#include <limits>

#include "ops/validate.h"

namespace twill {

void validate(const ApplyMaskArgs& args) {
  if (args.x.dtype() == args.y.dtype())
    require_float_types("apply_mask", {{"x", args.x}, {"y", args.y}}, {});
  else
    require_float_types("apply_mask", {{"y", args.y}}, {{"x", args.x}});
  require_bytes("apply_mask", {"mask", args.mask}, args.x.shape());
  require_shape("apply_mask", {"y", args.y}, args.x.shape());
  require_bytes("apply_mask", {"keep_columns", args.keep_columns, true}, {args.x.cols()});
}

void validate(const MaskDifferenceArgs& args) {
  require_bytes("mask_difference", {"a", args.a}, args.a.shape());
  require_bytes("mask_difference", {"b", args.b}, args.a.shape());
  require_dtype("mask_difference", {"count", args.count}, DType::kF64);
  require_shape("mask_difference", {"count", args.count}, {1});
}

void validate(const MaskMassArgs& args) {
  require_one_float_type("mask_mass", {{"x", args.x}});
  require_bytes("mask_mass", {"mask", args.mask}, args.x.shape());
  require_dtype("mask_mass", {"sums", args.sums}, DType::kF64);
  require_shape("mask_mass", {"sums", args.sums}, {5});
}

void validate(const CountNonzeroArgs& args) {
  require_float_types("count_nonzero", {{"x", args.x}}, {});
  require_dtype("count_nonzero", {"counts", args.counts}, DType::kI32);
  require_shape("count_nonzero", {"counts", args.counts}, {args.x.cols()});
  require(args.x.rows() <= std::numeric_limits<std::int32_t>::max(),
          "[count_nonzero] x must have fewer than 2^31 rows, got {}", args.x.rows());
}

void apply_mask(const Context& context, const ApplyMaskArgs& args) {
  validate(args);
  require_stored("apply_mask", context.kernels(), args.y);
  context.run("apply_mask", context.kernels().apply_mask, args);
}

void mask_difference(const Context& context, const MaskDifferenceArgs& args) {
  validate(args);
  context.run("mask_difference", context.kernels().mask_difference, args);
}

void mask_mass(const Context& context, const MaskMassArgs& args) {
  validate(args);
  context.run("mask_mass", context.kernels().mask_mass, args);
}

void count_nonzero(const Context& context, const CountNonzeroArgs& args) {
  validate(args);
  require_stored("count_nonzero", context.kernels(), args.x);
  context.run("count_nonzero", context.kernels().count_nonzero, args);
}

}  // namespace twill
