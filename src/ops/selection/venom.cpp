// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/venom.h"

#include "ops/validate.h"

namespace twill {
namespace {

void require_order(const NamedView& order, std::int64_t count) {
  if (!order.view) return;
  require_dtype("venom_select", order, DType::kI32);
  require_shape("venom_select", order, {count});
}

}  // namespace

void validate(const VenomSelectArgs& args) {
  require_float_types("venom_select", {{"x", args.x}}, {});
  const Shape& shape = args.x.shape();
  require(shape.rank() == 2, "[venom_select] x must have shape (R, C), got {}", to_string(shape));
  require(args.mask || shape.num_elements() == 0, "[venom_select] mask is missing");
  require_dtype("venom_select", {"mask", args.mask}, DType::kU8);
  require_shape("venom_select", {"mask", args.mask}, shape);
  require_order({"row_order", args.row_order}, shape[0]);
  require_order({"column_order", args.column_order}, shape[1]);
  require(args.v >= 1, "[venom_select] v must be 1 or more, got {}", args.v);
  require(args.m >= 1, "[venom_select] m must be 1 or more, got {}", args.m);
  if (!args.mass) return;
  require_dtype("venom_select", {"mass", args.mass}, DType::kF64);
  require_shape("venom_select", {"mass", args.mass}, {3});
}

void venom_select(const Context& context, const VenomSelectArgs& args) {
  validate(args);
  require_stored("venom_select", context.kernels(), args.x);
  context.run("venom_select", context.kernels().venom_select, args);
}

}  // namespace twill
