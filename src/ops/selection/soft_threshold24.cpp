// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/soft_threshold24.h"

#include <cmath>

#include "ops/validate.h"

namespace twill {
namespace {

void require_groups(std::string_view op, const ConstView& x, GroupAxis axis) {
  require(x.shape().rank() == 2, "[{}] x must have two dimensions, got {}", op,
          to_string(x.shape()));
  const bool within_row = axis == GroupAxis::kWithinRow;
  const std::int64_t grouped = within_row ? x.cols() : x.rows();
  require(grouped % 4 == 0, "[{}] {} of x must be a multiple of 4, got {}", op,
          within_row ? "cols" : "rows", grouped);
}

}  // namespace

void validate(const SoftThreshold24Args& args, const char* op) {
  require_float_types(op, {{"y", args.y}}, {{"x", args.x}});
  require_groups(op, args.x, args.axis);
  require_shape(op, {"y", args.y}, args.x.shape());
  require(std::isfinite(args.scale), "[{}] scale must be finite, got {}", op, args.scale);
}

void validate(const SoftThreshold24SumsArgs& args) {
  require_one_float_type("soft_threshold24_sums", {{"x", args.x}});
  require_groups("soft_threshold24_sums", args.x, args.axis);
  require_dtype("soft_threshold24_sums", {"sums", args.sums}, DType::kF64);
  require_shape("soft_threshold24_sums", {"sums", args.sums}, {4});
}

void soft_threshold24(const Context& context, const SoftThreshold24Args& args) {
  validate(args);
  require_stored("soft_threshold24", context.kernels(), args.y);
  context.run("soft_threshold24", context.kernels().soft_threshold24, args);
}

void soft_threshold24_sums(const Context& context, const SoftThreshold24SumsArgs& args) {
  validate(args);
  context.run("soft_threshold24_sums", context.kernels().soft_threshold24_sums, args);
}

}  // namespace twill
