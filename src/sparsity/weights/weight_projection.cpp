// SPDX-License-Identifier: Apache-2.0
#include "sparsity/weights/weight_projection.h"

#include "base/require.h"
#include "nn/builder.h"
#include "ops/selection/mask.h"
#include "ops/selection/select24.h"
#include "ops/selection/soft_threshold24.h"
#include "ops/selection/transposable24.h"
#include "ops/selection/venom.h"
#include "ops/transfer.h"

namespace twill {
namespace {

void require_multiple(const LinearSeam& seam, const WeightsPart& part, std::int64_t size,
                      std::int64_t divisor, const char* what) {
  require(
      size % divisor == 0,
      "recipe: weights.pattern = \"{}\" needs {} of {} to be a multiple of {}, got {}; leave the "
      "layer out with recipe.layers, or change the model's width",
      word_of(part.pattern), what, seam.name, divisor, size);
}

}  // namespace

GroupAxis axis_of(WeightAxis axis, const LinearSeam& seam) {
  if (axis == WeightAxis::kWidth) return seam.width_axis;
  return axis == WeightAxis::kOutputs ? GroupAxis::kWithinColumn : GroupAxis::kWithinRow;
}

void choose_mask(const Context& context, const WeightsPart& part, const LinearSeam& seam,
                 ConstView weight, View mask) {
  const GroupAxis axis = axis_of(part.axis, seam);
  if (part.is_both_ways()) {
    transposable24(context, {.x = weight,
                             .mask = mask,
                             .method = part.pattern == WeightPattern::kGreedy24
                                           ? TransposableMethod::kGreedyKeep
                                           : TransposableMethod::kExact});
  } else if (part.pattern == WeightPattern::kVenom) {
    venom_select(context, {.x = weight, .mask = mask, .along = axis, .v = part.v, .m = part.m});
  } else {
    select24(context, {.x = weight, .mask = mask, .axis = axis});
  }
}

double soft_scale(const Context& context, const WeightsPart& part, const SparseLayer& layer,
                  View sums) {
  if (part.scale == SoftScale::kNone) return 1.0;
  soft_threshold24_sums(
      context, {.x = layer.weight(), .sums = sums, .axis = axis_of(part.axis, *layer.seam)});
  const std::vector<double> s = host_values<double>(context, sums);
  const double above = part.scale == SoftScale::kKeepL1 ? s[2] : s[0];
  const double below = part.scale == SoftScale::kKeepL1 ? s[3] : s[1];
  // A matrix of dead groups (all magnitudes equal) projects to zero under any scale.
  return below > 0.0 ? above / below : 1.0;
}

void project(const Context& context, const WeightsPart& part, const SparseLayer& layer) {
  if (part.is_soft()) {
    soft_threshold24(context, {.x = layer.weight(),
                               .y = layer.projected,
                               .axis = axis_of(part.axis, *layer.seam),
                               .scale = layer.beta});
  } else {
    apply_mask(context, {.x = layer.weight(), .mask = layer.mask, .y = layer.projected});
  }
}

void hide_weights(const Context& context, const SparseLayer& layer) {
  const Parameter& weight = *layer.seam->weight;
  apply_mask(context, {.x = weight.value, .mask = layer.mask, .y = weight.value});
  refresh_operand(context, weight);
}

void require_divisible(const WeightsPart& part, const LinearSeam& seam) {
  if (part.is_dense() || part.is_topology()) return;
  const Shape& shape = seam.weight->shape;
  const bool both = part.is_both_ways();
  const bool columns = axis_of(part.axis, seam) == GroupAxis::kWithinColumn;
  const std::int64_t divisor = part.pattern == WeightPattern::kVenom ? part.m : 4;
  if (both || !columns) require_multiple(seam, part, shape[1], divisor, "the inputs");
  if (both || columns) require_multiple(seam, part, shape[0], divisor, "the outputs");
}

}  // namespace twill
