// SPDX-License-Identifier: Apache-2.0
#include "sparsity/weights/weight_projection.h"

#include <algorithm>

#include "base/require.h"
#include "nn/builder.h"
#include "ops/selection/mask.h"
#include "ops/selection/select24.h"
#include "ops/selection/soft_threshold24.h"
#include "ops/selection/transposable24.h"
#include "ops/selection/venom.h"
#include "ops/transfer.h"
#include "sparsity/recipe/scope.h"

namespace twill {
namespace {

// The key that decides one side of the layer's weight.
const char* key_of_size(const LinearSeam& seam, bool is_inputs) {
  const bool is_model_width = is_inputs == (seam.width_axis == GroupAxis::kWithinRow);
  if (is_model_width) return "model.width";
  if (seam.family == LayerFamily::kHead) return "model.vocab";
  return seam.family == LayerFamily::kFfn ? "model.ffn.width" : "model.width or model.kv_heads";
}

void require_multiple(const LinearSeam& seam, const WeightsPart& part, bool is_inputs,
                      std::int64_t divisor) {
  const std::int64_t size = seam.weight->shape[is_inputs ? 1 : 0];
  require(
      size % divisor == 0,
      "recipe: weights.pattern = \"{}\" needs the {} of {} to be a multiple of {}, got {}; change "
      "{} (the nearest is {}), leave the layer out with recipe.layers, or set recipe=dense",
      word_of(part.pattern), is_inputs ? "inputs" : "outputs", seam.name, divisor, size,
      key_of_size(seam, is_inputs),
      std::max<std::int64_t>(1, (size + divisor / 2) / divisor) * divisor);
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
  const bool both = part.is_both_ways();
  const bool columns = axis_of(part.axis, seam) == GroupAxis::kWithinColumn;
  const std::int64_t divisor = part.pattern == WeightPattern::kVenom ? part.m : 4;
  if (both || !columns) require_multiple(seam, part, /*is_inputs=*/true, divisor);
  if (both || columns) require_multiple(seam, part, /*is_inputs=*/false, divisor);
}

void require_divisible(const RecipeConfig& recipe, const std::deque<LinearSeam>& layers) {
  for (const PhaseConfig& phase : recipe.phase)
    for (const LinearSeam& seam : layers)
      if (is_in_scope(seam, phase.layers.empty() ? recipe.layers : phase.layers))
        require_divisible(phase.weights, seam);
}

}  // namespace twill
