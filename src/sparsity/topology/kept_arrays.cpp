// SPDX-License-Identifier: Apache-2.0
#include "sparsity/topology/kept_arrays.h"

#include "ops/selection/mask.h"

namespace twill {

bool KeptArrays::wants_arrays(const SparseLayer& layer, bool moves) const {
  const PhaseConfig& now = at_.phase();
  return now.weights.is_topology() && weights_.in_scope(layer) && !moves &&
         now.optimizer.regrown != Regrown::kKeep &&
         layer.density < at_.entry_of(*layer.seam).wgrad_below;
}

bool KeptArrays::arrange(const Context& context, bool moves) {
  bool changed = false;
  if (at_.runs_masked()) return changed;
  for (SparseLayer& layer : weights_.layers()) {
    const Moments& moments = layer.seam->weight->moments;
    const bool wanted = moments.m && wants_arrays(layer, moves);
    if (wanted == layer.packed.is_kept()) continue;
    changed = true;
    if (wanted) {
      layer.packed.begin_kept(context, layer, moments);
    } else {
      layer.packed.end_kept(context, layer, moments);
    }
  }
  return changed;
}

void KeptArrays::end(const Context& context) {
  for (SparseLayer& layer : weights_.layers())
    if (layer.packed.is_kept()) layer.packed.end_kept(context, layer, layer.seam->weight->moments);
}

void KeptArrays::forget() {
  for (SparseLayer& layer : weights_.layers()) layer.packed.forget_kept(layer);
}

void KeptArrays::write_entries() const {
  for (const SparseLayer& layer : weights_.layers())
    if (layer.packed.is_kept()) layer.seam->weight->update.kept = layer.packed.entries();
}

void KeptArrays::write_moments(const Context& context) const {
  for (const SparseLayer& layer : weights_.layers())
    if (layer.packed.is_kept()) layer.packed.write_moments(context, layer.seam->weight->moments);
}

void KeptArrays::hide_gradients(const Context& context) const {
  if (!at_.phase().weights.is_topology()) return;
  for (const SparseLayer* layer : weights_.scoped()) {
    if (layer->packed.is_kept()) {
      layer->packed.add_shared_gradient(context, *layer);
      continue;
    }
    const View gradient = layer->seam->weight->gradient;
    apply_mask(context, {.x = gradient, .mask = layer->mask, .y = gradient});
  }
}

void KeptArrays::renew_weights(const Context& context) const {
  if (!at_.phase().weights.is_topology()) return;
  for (const SparseLayer* layer : weights_.scoped()) {
    if (!layer->packed.is_kept()) {
      hide_weights(context, *layer);
      continue;
    }
    layer->packed.write_weight(context, *layer);
    refresh_operand(context, *layer->seam->weight);
  }
}

}  // namespace twill
