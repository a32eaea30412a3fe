// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/pack24.h"

#include "ops/validate.h"

namespace twill {
namespace {

// Values may be narrower than dense: rounded operands of a master weight.
void require_values(const ConstView& dense, const ConstView& values) {
  if (dense.dtype() == values.dtype())
    require_float_types("pack24", {{"dense", dense}, {"values", values}}, {});
  else
    require_float_types("pack24", {{"values", values}}, {{"dense", dense}});
}

// The operands both directions share; `dense` decides the shapes.
void require_packing(std::string_view op, const ConstView& dense, const ConstView& values,
                     const ConstView& nibbles, bool transpose) {
  require(dense.shape().rank() == 2, "[{}] dense must have two dimensions, got {}", op,
          to_string(dense.shape()));
  const std::int64_t rows = transpose ? dense.cols() : dense.rows();
  const std::int64_t cols = transpose ? dense.rows() : dense.cols();
  require(cols % 4 == 0, "[{}] {} of dense must be a multiple of 4, got {}", op,
          transpose ? "rows" : "cols", cols);
  require_shape(op, {"values", values}, {rows, cols / 2});
  require_bytes(op, {"nibbles", nibbles}, {rows, (cols + 7) / 8});
}

}  // namespace

void validate(const Pack24Args& args) {
  require_values(args.dense, args.values);
  require_packing("pack24", args.dense, args.values, args.nibbles, args.transpose);
  require_bytes("pack24", {"mask", args.mask}, args.dense.shape());
}

void validate(const Unpack24Args& args) {
  require_float_types("unpack24", {{"dense", args.dense}, {"values", args.values}}, {});
  require_packing("unpack24", args.dense, args.values, args.nibbles, args.transpose);
}

void pack24(const Context& context, const Pack24Args& args) {
  validate(args);
  require_stored("pack24", context.kernels(), args.values);
  context.run("pack24", context.kernels().pack24, args);
}

void unpack24(const Context& context, const Unpack24Args& args) {
  validate(args);
  require_stored("unpack24", context.kernels(), args.values);
  context.run("unpack24", context.kernels().unpack24, args);
}

}  // namespace twill
