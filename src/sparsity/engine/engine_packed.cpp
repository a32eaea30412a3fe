// SPDX-License-Identifier: Apache-2.0
// What the layers are built with, and packed execution: which products of a layer leave zeros out, by
// the plan and the layer's density.
#include <algorithm>

#include "sparsity/engine/engine.h"
#include "sparsity/recipe/scope.h"

namespace twill {

bool SparsityEngine::is_always_packed(const Builder& builder, const SparseLayer& layer) const {
  if (plan_.execution == Execution::kMasked) return false;
  const LinearSeam& seam = *layer.seam;
  for (std::size_t index = 0; index < recipe_.phase.size(); ++index) {
    const PhaseConfig& phase = recipe_.phase[index];
    const auto& words = phase.layers.empty() ? recipe_.layers : phase.layers;
    if (phase.weights.is_dense() || !is_in_scope(seam, words)) continue;
    if (!phase.activations.is_dense()) return false;  // packed activations meet a plain weight
    const PlanEntry* entry =
        plan_.find(static_cast<std::int64_t>(index), seam.weight->shape[0], seam.weight->shape[1]);
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

Builder::Options SparsityEngine::asked_of(const RecipeConfig& recipe, Builder::Options options,
                                          const Plan& plan) {
  const bool is_auto =
      recipe.execution == Execution::kAuto;  // leaves out what only masked execution can do
  for (std::size_t i = 0; i < recipe.phase.size(); ++i) {
    const PhaseConfig& phase = recipe.phase[i];
    if (phase.wgrad.is_sample()) options.samples_gradients = true;
    if (phase.quantise.format != NumberFormat::kNone && !is_auto) options.rounds_operands = true;
    const ActivationsPart& part = phase.activations;
    if (part.is_dense() || !plan.selects(static_cast<std::int64_t>(i))) continue;
    options.selects_activations = true;
    const bool packs = std::ranges::any_of(plan.layer, &PlanEntry::packs_activations);
    if (packs)
      options.packed_activations = std::max(options.packed_activations, most_selected(part));
  }
  options.packs_samples = options.samples_gradients && recipe.execution != Execution::kMasked;
  options.measures_activations = options.selects_activations || recipe.health.activations;
  return options;
}

void SparsityEngine::reserve_packed(Builder& builder) {
  if (plan_.execution == Execution::kMasked) return;
  for (SparseLayer& layer : layers_) {
    const Shape& shape = layer.seam->weight->shape;
    std::vector<PackedLayer::Use> uses;
    for (std::int64_t index = 0; index < clock_.num_phases(); ++index) {
      const PhaseConfig& phase = recipe_.phase[static_cast<std::size_t>(index)];
      const PlanEntry* entry = plan_.find(index, shape[0], shape[1]);
      if (entry == nullptr || phase.weights.is_dense()) continue;
      uses.push_back({*entry, &phase.weights});
    }
    layer.packed.reserve(builder, layer, uses);
  }
}

const PlanEntry& SparsityEngine::entry_of(const SparseLayer& layer) const {
  static const PlanEntry kMasked;
  const Shape& shape = layer.seam->weight->shape;
  const PlanEntry* entry = forced_dense_ ? nullptr : plan_.find(clock_.index(), shape[0], shape[1]);
  return entry != nullptr ? *entry : kMasked;
}

ActivationSteering::InScope SparsityEngine::layers_that_are_on() const {
  return [this](const LinearSeam& seam) {
    return is_in_scope(seam, scope_words()) && plan_.is_on(clock_.index(), seam);
  };
}

void SparsityEngine::point_packed_activations() {
  for (SteeredFfn& ffn : activations_.ffns()) {
    const FfnSeam& seam = *ffn.seam;
    const Shape &in = ffn.input->weight->shape, &out = ffn.output->weight->shape;
    const PlanEntry* input = plan_.find(clock_.index(), in[0], in[1]);
    const PlanEntry* output = plan_.find(clock_.index(), out[0], out[1]);
    ffn.input->packed_activations = ffn.output->packed_activations = {};
    if (!seam.selects || input == nullptr || output == nullptr) continue;
    const double kept = selected_share(seam.m, seam.dense_forward ? ffn.dense_share : 0.0);
    const double in_wgrad = seam.transposed_m > 0
                                ? std::min(kept, selected_share(seam.transposed_m, ffn.dense_share))
                                : kept;
    ffn.output->packed_activations = {.forward = output->forward_selected ? kept : 0.0,
                                      .wgrad = output->wgrad_selected ? in_wgrad : 0.0};
    ffn.input->packed_activations = {.dgrad = input->dgrad_selected ? kept : 0.0,
                                     .wgrad = input->wgrad_selected ? in_wgrad : 0.0};
  }
}

void SparsityEngine::pack_all(const Context& context) {
  if (plan_.execution == Execution::kMasked) return;
  std::vector<PackBothArgs> together;
  for (SparseLayer& layer : layers_) {
    if (in_scope(layer) && !phase().weights.is_dense()) {
      layer.packed.pack(context, layer, phase().weights, entry_of(layer), !masks_changed_,
                        together);
    } else {
      layer.packed.drop(layer);
    }
  }
  pack_weights(context, {.weights = together});
  masks_changed_ = false;
}

// An update of the topology needs the gradient of every weight, and moves moments.
bool SparsityEngine::wants_kept(const SparseLayer& layer, std::int64_t step) const {
  const PhaseConfig& now = phase();
  return now.weights.is_topology() && in_scope(layer) && !updates_topology(step) &&
         now.optimizer.regrown != Regrown::kKeep && layer.density < entry_of(layer).wgrad_below;
}

void SparsityEngine::arrange_kept(const Context& context, std::int64_t step) {
  if (!moments_ || plan_.execution == Execution::kMasked) return;
  for (SparseLayer& layer : layers_) {
    const bool wanted = wants_kept(layer, step);
    if (wanted == layer.packed.is_kept()) continue;
    const Moments moments = moments_(*layer.seam->weight);
    if (wanted) {
      layer.packed.begin_kept(context, layer, moments);
    } else {
      layer.packed.end_kept(context, layer, moments);
    }
  }
}

void SparsityEngine::end_kept(const Context& context) {
  for (SparseLayer& layer : layers_)
    if (layer.packed.is_kept())
      layer.packed.end_kept(context, layer, moments_(*layer.seam->weight));
}

void SparsityEngine::write_moments(const Context& context) const {
  for (const SparseLayer& layer : layers_)
    if (layer.packed.is_kept()) layer.packed.write_moments(context, moments_(*layer.seam->weight));
}

std::optional<KeptEntries> SparsityEngine::kept_entries(const Parameter& parameter) const {
  for (const SparseLayer& layer : layers_)
    if (layer.seam->weight == &parameter && layer.packed.is_kept()) return layer.packed.entries();
  return std::nullopt;
}

std::optional<SparsityEngine::Decay> SparsityEngine::decay_of(const Parameter& parameter) const {
  if (!is_scaled(parameter)) return std::nullopt;
  const auto layer = std::ranges::find_if(
      layers_, [&](const SparseLayer& one) { return one.seam->weight == &parameter; });
  return Decay{.mask = layer->mask, .lambda = phase().decay.lambda};
}

std::int64_t SparsityEngine::num_in_scope() const {
  return std::ranges::count_if(
      layers_, [&](const SparseLayer& layer) { return is_in_scope(*layer.seam, scope_words()); });
}

std::int64_t SparsityEngine::num_off() const {
  return std::ranges::count_if(layers_, [&](const SparseLayer& layer) {
    return is_in_scope(*layer.seam, scope_words()) && !in_scope(layer);
  });
}

SparsityEngine::MasterWeights::MasterWeights(SparsityEngine& engine) : engine_(engine) {
  for (SparseLayer& layer : engine_.layers_) {
    LinearSeam& seam = *layer.seam;
    saved_.push_back({seam.forward, seam.dgrad, seam.packed_forward, seam.packed_dgrad});
    if (!seam.forward && !seam.dgrad) continue;  // a kept topology: products take the master
    seam.forward = seam.dgrad = ConstView();
    seam.packed_forward = seam.packed_dgrad = {};
  }
}

SparsityEngine::MasterWeights::~MasterWeights() {
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    LinearSeam& seam = *engine_.layers_[i].seam;
    seam.forward = saved_[i].forward;
    seam.dgrad = saved_[i].dgrad;
    seam.packed_forward = saved_[i].packed_forward;
    seam.packed_dgrad = saved_[i].packed_dgrad;
  }
}

}  // namespace twill
