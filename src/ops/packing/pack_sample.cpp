// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/pack_sample.h"

#include "ops/numbers/column_sum.h"
#include "ops/validate.h"

namespace twill {

PackedShape packed_sample_shape(std::int64_t channels, std::int64_t tokens, DType type) {
  return {.pattern = PackedPattern::k24,
          .rows = channels,
          .cols = tokens,
          .max_kept = channels * ((tokens + 3) / 4 * 2),
          .type = type,
          .side = PackedSide::kLeft};
}

void validate(const PackSampleArgs& args) {
  require_float_types("pack_sample", {{"x", args.x}, {"sample", args.sample, true}}, {});
  require(args.x.shape().rank() == 2, "[pack_sample] x must be a matrix, got {}",
          to_string(args.x.shape()));
  require_shape("pack_sample", {"x", args.x}, {args.shape.cols, args.shape.rows});
  require_shape("pack_sample", {"sample", args.sample, true}, args.x.shape());
  require(args.shape.pattern == PackedPattern::k24 && args.shape.side == PackedSide::kLeft,
          "[pack_sample] shape must have pattern k24 and side kLeft: see packed_sample_shape()");
  require_dtype("pack_sample", {"storage", args.storage}, DType::kU8);
  if (args.step_at) require_dtype("pack_sample", {"step_at", args.step_at}, DType::kI32);
  require(args.first_token >= 0 && args.first_token % 16 == 0,
          "[pack_sample] first_token must be a multiple of 16, got {}", args.first_token);
  if (args.sum) validate(ColumnSumArgs{.x = args.x, .sum = args.sum});
}

void pack_sample(const Context& context, const PackSampleArgs& args) {
  validate(args);
  if (args.x.num_elements() == 0) {
    if (args.sum)
      column_sum(context, {.x = args.x, .sum = args.sum, .accumulate = args.accumulate});
    return;
  }
  const KernelTable& kernels = context.kernels();
  const std::int64_t bytes = packed_bytes(context, args.shape);
  require(
      bytes > 0 && args.storage.num_bytes() >= bytes,
      "[pack_sample] storage must have {} bytes, got {}; 0: the {} backend does not pack {} x {}",
      bytes, args.storage.num_bytes(), kernels.name, args.shape.rows, args.shape.cols);
  if (kernels.fuses_sample != nullptr && kernels.fuses_sample(args))
    return context.run("pack_sample", kernels.pack_sample, args);
  require(static_cast<bool>(args.sample), "[pack_sample] sample is missing");
  if (args.sum) column_sum(context, {.x = args.x, .sum = args.sum, .accumulate = args.accumulate});
  mvue24(context, {.x = args.x,
                   .y = args.sample,
                   .law = args.law,
                   .seed = args.seed,
                   .step = args.step,
                   .step_at = args.step_at,
                   .stream = args.stream,
                   .first_token = args.first_token});
  pack_matrix(
      context,
      {.dense = args.sample, .shape = args.shape, .storage = args.storage, .transpose = true});
}

}  // namespace twill
