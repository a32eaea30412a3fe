// SPDX-License-Identifier: Apache-2.0
// What WeightSteering asks for before a model has memory, and the errors that need its layers.
#include <algorithm>

#include "base/require.h"
#include "sparsity/recipe/scope.h"
#include "sparsity/weights/weight_steering.h"

namespace twill {
namespace {

template <class Predicate>
bool any_phase(const RecipeConfig& recipe, Predicate predicate) {
  return std::ranges::any_of(recipe.phase, predicate);
}

}  // namespace

WeightSteering::WeightSteering(Builder& builder, const RunPosition& at) : at_(at) {
  const bool is_sparse =
      any_phase(at.recipe(), [](const PhaseConfig& phase) { return !phase.is_dense(); });
  if (is_sparse || !at.virtual_part().is_dense()) reserve(builder);
}

void WeightSteering::reserve(Builder& builder) {
  const RecipeConfig& recipe = at_.recipe();
  std::vector<std::string> words = recipe.layers;
  for (const PhaseConfig& phase : recipe.phase)
    words.insert(words.end(), phase.layers.begin(), phase.layers.end());
  const bool has_mask = any_phase(recipe, [](const auto& p) { return !p.weights.is_dense(); });
  const bool has_projection = any_phase(recipe, twill::projects);
  const bool has_topology =
      any_phase(recipe, [](const auto& p) { return p.weights.is_topology(); });
  const bool compares = recipe.health.every > 0 && (has_mask || !at_.virtual_part().is_dense());
  std::int64_t largest = 0;
  for (LinearSeam* seam : layers_in_scope(builder, words)) {
    check_layer(*seam);
    SparseLayer& layer = layers_.emplace_back();
    layer.seam = seam;
    const Shape& shape = seam->weight->shape;
    if (has_mask) builder.sparsity_state(layer.mask, DType::kU8, shape);
    layer.is_unpacked = has_projection && is_always_packed(builder, layer);
    if (layer.is_unpacked)
      builder.scratch_of("sparsity.projected", layer.projected, builder.options().dtype, shape);
    else if (has_projection)
      builder.sparsity_state(layer.projected, builder.options().dtype, shape);
    if (has_topology) builder.sparsity_state(layer.grown, DType::kU8, shape);
    if (compares) builder.sparsity_state(layer.before, DType::kU8, shape);
    largest = std::max(largest, layer.num_weights());
  }
  check_globs();
  if (compares) builder.sparsity_state(after_, DType::kU8, {largest});
  builder.sparsity_state(sums_, DType::kF64, {5});
  reserve_packed(builder);
}

void WeightSteering::check_layer(const LinearSeam& seam) const {
  if (!at_.virtual_part().is_dense()) require_divisible(at_.virtual_part(), seam);
  for (const PhaseConfig& phase : at_.recipe().phase) {
    if (!is_in_scope(seam, at_.words_of(phase))) continue;
    require_divisible(phase.weights, seam);
    require(
        !seam.shares_weight || !twill::projects(phase),
        "recipe: weights.pattern = \"{}\" has the head in scope, whose weight is the embedding's "
        "too: an exported model could not have one projected and the other not; set "
        "model.tied_head=false, or leave \"head\" out of the layers",
        word_of(phase.weights.pattern));
  }
}

// A misspelt glob would leave a product dense without a word.
void WeightSteering::check_globs() const {
  for (const PhaseConfig& phase : at_.recipe().phase) {
    if (!twill::projects(phase)) continue;
    for (const auto* globs : {&phase.weights.forward, &phase.weights.dgrad})
      for (const std::string& glob : *globs)
        require(std::ranges::any_of(layers_,
                                    [&](const SparseLayer& layer) {
                                      return is_in_scope(*layer.seam, at_.words_of(phase)) &&
                                             matches_any({glob}, layer.seam->name);
                                    }),
                "recipe: weights.{} = \"{}\" matches no layer in scope; expected globs over names "
                "like {}",
                globs == &phase.weights.forward ? "forward" : "dgrad", glob,
                layers_.front().seam->name);
  }
}

bool WeightSteering::is_always_packed(const Builder& builder, const SparseLayer& layer) const {
  if (at_.runs_masked()) return false;
  const LinearSeam& seam = *layer.seam;
  for (std::size_t index = 0; index < at_.recipe().phase.size(); ++index) {
    const PhaseConfig& phase = at_.recipe().phase[index];
    if (phase.weights.is_dense() || !is_in_scope(seam, at_.words_of(phase))) continue;
    if (!phase.activations.is_dense()) return false;  // packed activations meet a plain weight
    const PlanEntry* entry = at_.plan().find(static_cast<std::int64_t>(index), seam);
    if (entry != nullptr && !entry->on) continue;
    const double density = density_of(phase.weights, layer);
    if (entry == nullptr || phase.weights.is_soft() || phase.weights.is_topology() ||
        density >= std::min(entry->forward_below, entry->dgrad_below) ||
        !matches_any(phase.weights.forward, seam.name) ||
        !matches_any(phase.weights.dgrad, seam.name))
      return false;
    for (const bool transpose : {false, true})
      if (!packed_shape(builder.context(), layer, phase.weights, transpose,
                        builder.options().dtype))
        return false;
  }
  return true;
}

void WeightSteering::reserve_packed(Builder& builder) {
  if (at_.runs_masked()) return;
  for (SparseLayer& layer : layers_) {
    std::vector<PackedLayer::Use> uses;
    for (std::int64_t index = 0; index < at_.clock().num_phases(); ++index) {
      const PhaseConfig& phase = at_.recipe().phase[static_cast<std::size_t>(index)];
      const PlanEntry* entry = at_.plan().find(index, *layer.seam);
      if (entry == nullptr || phase.weights.is_dense()) continue;
      uses.push_back({*entry, &phase.weights});
    }
    layer.packed.reserve(builder, layer, uses);
  }
}

}  // namespace twill
