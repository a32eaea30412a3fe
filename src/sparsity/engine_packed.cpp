// SPDX-License-Identifier: Apache-2.0
// Packed execution: which products of a layer leave zeros out, by the plan and the layer's density.
#include <algorithm>

#include "sparsity/engine.h"
#include "sparsity/scope.h"

namespace twill {

bool SparsityEngine::is_always_packed(const SparseLayer& layer) const {
  if (plan_.execution == "masked") return false;
  const LinearSeam& seam = *layer.seam;
  for (std::size_t index = 0; index < recipe_.phase.size(); ++index) {
    const PhaseConfig& phase = recipe_.phase[index];
    const auto& words = phase.layers.empty() ? recipe_.layers : phase.layers;
    if (phase.weights.is_dense() || !is_in_scope(seam, words)) continue;
    const PlanEntry* entry =
        plan_.find(static_cast<std::int64_t>(index), seam.weight->shape[0], seam.weight->shape[1]);
    if (entry != nullptr && !entry->on) continue;
    const double density = density_of(phase.weights, layer);
    if (entry == nullptr || phase.weights.is_soft() || phase.weights.is_topology() ||
        density >= std::min(entry->forward_below, entry->dgrad_below) ||
        !matches_any(phase.weights.forward, seam.name) ||
        !matches_any(phase.weights.dgrad, seam.name))
      return false;
  }
  return true;
}

void SparsityEngine::reserve_packed(Builder& builder) {
  if (plan_.execution == "masked") return;
  for (SparseLayer& layer : layers_) {
    const Shape& shape = layer.seam->weight->shape;
    std::vector<PlanEntry> entries;
    bool has_topology = false;
    for (std::int64_t index = 0; index < clock_.num_phases(); ++index) {
      const PhaseConfig& phase = recipe_.phase[static_cast<std::size_t>(index)];
      const PlanEntry* entry = plan_.find(index, shape[0], shape[1]);
      if (entry == nullptr || phase.weights.is_dense()) continue;
      entries.push_back(*entry);
      has_topology |= phase.weights.is_topology();
    }
    layer.packed.reserve(builder, layer, entries, has_topology);
  }
}

const PlanEntry& SparsityEngine::entry_of(const SparseLayer& layer) const {
  static const PlanEntry kMasked;
  const Shape& shape = layer.seam->weight->shape;
  const PlanEntry* entry = forced_dense_ ? nullptr : plan_.find(clock_.index(), shape[0], shape[1]);
  return entry != nullptr ? *entry : kMasked;
}

void SparsityEngine::pack_all(const Context& context) {
  if (plan_.execution == "masked") return;
  for (SparseLayer& layer : layers_) {
    if (in_scope(layer) && !phase().weights.is_dense()) {
      layer.packed.pack(context, layer, phase().weights, entry_of(layer), !masks_changed_);
    } else {
      layer.packed.drop(layer);
    }
  }
  masks_changed_ = false;
}

// An update of the topology needs the gradient of every weight, and moves moments.
bool SparsityEngine::wants_kept(const SparseLayer& layer, std::int64_t step) const {
  const PhaseConfig& now = phase();
  return now.weights.is_topology() && in_scope(layer) && !updates_topology(step) &&
         now.optimizer.regrown != "keep" && layer.density < entry_of(layer).wgrad_below;
}

void SparsityEngine::arrange_kept(const Context& context, std::int64_t step) {
  if (!moments_ || plan_.execution == "masked") return;
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

std::int64_t SparsityEngine::num_in_scope() const {
  return std::ranges::count_if(
      layers_, [&](const SparseLayer& layer) { return is_in_scope(*layer.seam, scope_words()); });
}

std::int64_t SparsityEngine::num_off() const {
  return std::ranges::count_if(layers_, [&](const SparseLayer& layer) {
    return is_in_scope(*layer.seam, scope_words()) && !in_scope(layer);
  });
}

}  // namespace twill
