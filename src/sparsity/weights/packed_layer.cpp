// SPDX-License-Identifier: Apache-2.0
#include "sparsity/weights/packed_layer.h"

#include <algorithm>
#include <cmath>

#include "ops/numbers/fill.h"
#include "ops/packing/soft_pack24.h"
#include "ops/transfer.h"
#include "sparsity/recipe/scope.h"
#include "sparsity/weights/weight_projection.h"

namespace twill {
namespace {

// By which rule the rows of a weight, or of its transposed, keep entries. Greedy masks keep at most two
// of four both ways, but not always two.
PackedPattern pattern_of(const WeightsPart& part, const LinearSeam& seam, bool transpose) {
  if (part.pattern == WeightPattern::kTransposable24) return PackedPattern::kTransposable24;
  if (part.pattern == WeightPattern::kGreedy24) return PackedPattern::k24;
  if (part.is_topology()) return PackedPattern::kAny;
  const bool within_column = axis_of(part.axis, seam) == GroupAxis::kWithinColumn;
  return within_column == transpose ? PackedPattern::k24 : PackedPattern::kAny;
}

std::int64_t entries_at(const SparseLayer& layer, double density) {
  const auto weights = static_cast<double>(layer.num_weights());
  return static_cast<std::int64_t>(std::ceil(std::min(1.0, density) * weights));
}

void scatter_all(const Context& context, ConstView values, const KeptPositions& kept, View dense) {
  fill(context, {.x = dense});
  scatter_kept(context, {.values = values, .kept = kept, .dense = dense});
}

}  // namespace

double density_of(const WeightsPart& part, const SparseLayer& layer) {
  if (part.is_dense()) return 1.0;
  if (part.is_topology()) return layer.density;
  return part.pattern == WeightPattern::kVenom ? 2.0 / static_cast<double>(part.m) : 0.5;
}

std::optional<PackedShape> packed_shape(const Context& context, const SparseLayer& layer,
                                        const WeightsPart& part, bool transpose, DType type) {
  const Shape& shape = layer.seam->weight->shape;
  PackedShape packed{.pattern = pattern_of(part, *layer.seam, transpose),
                     .rows = shape[transpose ? 1 : 0],
                     .cols = shape[transpose ? 0 : 1],
                     .max_kept = entries_at(layer, 0.5),
                     .type = type};
  if (packed_bytes(context, packed) == 0) return std::nullopt;
  return packed;
}

void project_softly(const Context& context, const WeightsPart& part, const SparseLayer& layer,
                    const SideToPack& forward, const SideToPack& dgrad) {
  LinearSeam& seam = *layer.seam;
  // Its zeros are read where forward has nothing packed, by dgrad, and by a rounding to FP8. Where nobody
  // reads it, a pass of too few tokens for packed products unpacks it.
  const bool is_read =
      !forward.shape || dgrad.shape || seam.route.rounds() || matches_any(part.dgrad, seam.name);
  seam.route.unpacked = is_read ? View() : layer.projected;
  if (!forward.shape && !dgrad.shape) return project(context, part, layer);
  const SideToPack& first = forward.shape ? forward : dgrad;
  soft_pack24(context, {.x = layer.weight(),
                        .projected = layer.projected,
                        .axis = axis_of(part.axis, seam),
                        .scale = layer.beta,
                        .shape = *first.shape,
                        .storage = first.storage,
                        .transpose = !forward.shape,
                        .keeps_projected = is_read});
  if (forward.shape && dgrad.shape)
    pack_matrix(context, {.dense = layer.projected,
                          .shape = *dgrad.shape,
                          .storage = dgrad.storage,
                          .transpose = true});
}

void PackedLayer::reserve(Builder& builder, const SparseLayer& layer,
                          const std::vector<Use>& uses) {
  const Context& context = builder.context();
  type_ = builder.options().dtype;
  std::int64_t forward_bytes = 0, dgrad_bytes = 0;
  double wgrad = 0.0;
  // Phases may pack by different patterns: the largest form has room.
  const auto add = [&](const Use& use, double below, bool transpose, std::int64_t& bytes) {
    if (below <= 0.0) return;  // also where the backend packs nothing and has no sizes to tell
    std::optional<PackedShape> shape = packed_shape(context, layer, *use.part, transpose, type_);
    if (!shape) return;
    shape->max_kept = entries_at(layer, below);
    (transpose ? dgrad_kept_ : forward_kept_) =
        std::max(transpose ? dgrad_kept_ : forward_kept_, shape->max_kept);
    bytes = std::max(bytes, packed_bytes(context, *shape));
  };
  for (const Use& use : uses) {
    if (!use.entry.on) continue;
    add(use, use.entry.forward_below, /*transpose=*/false, forward_bytes);
    add(use, use.entry.dgrad_below, /*transpose=*/true, dgrad_bytes);
    if (use.part->is_topology()) wgrad = std::max(wgrad, use.entry.wgrad_below);
  }
  if (forward_bytes > 0) builder.packed_bytes(forward_, forward_bytes);
  if (dgrad_bytes > 0) builder.packed_bytes(dgrad_, dgrad_bytes);
  if (wgrad <= 0.0) return;
  const Shape& shape = layer.seam->weight->shape;
  const std::int64_t kept = entries_at(layer, wgrad);
  builder.packed_state(row_begin_, DType::kI32, {shape[0] + 1});
  builder.packed_state(column_, DType::kI32, {kept});
  for (View* array : {&value_, &gradient_, &m_, &v_})
    builder.packed_state(*array, DType::kF32, {kept});
}

std::optional<PackedShape> PackedLayer::reserved_shape(const Context& context,
                                                       const SparseLayer& layer,
                                                       const WeightsPart& part,
                                                       bool transpose) const {
  if (!(transpose ? dgrad_ : forward_)) return std::nullopt;
  std::optional<PackedShape> shape = packed_shape(context, layer, part, transpose, type_);
  if (shape) shape->max_kept = transpose ? dgrad_kept_ : forward_kept_;
  return shape;
}

void PackedLayer::pack(const Context& context, const SparseLayer& layer, const WeightsPart& part,
                       const PlanEntry& entry, bool same_mask,
                       std::vector<PackBothArgs>& together) {
  LinearSeam& seam = *layer.seam;
  const double density = density_of(part, layer);
  const bool hides = part.is_topology();  // the weight itself is what products take
  Route& route = seam.route;  // a product may leave the zeros of activations out instead
  std::optional<PackedShape> forward, dgrad;
  if (density < entry.forward_below && (hides || route.forward.operand) &&
      route.forward.activations == 0.0)
    forward = reserved_shape(context, layer, part, /*transpose=*/false);
  if (density < entry.dgrad_below && (hides || route.dgrad.operand) &&
      route.dgrad.activations == 0.0)
    dgrad = reserved_shape(context, layer, part, /*transpose=*/true);
  const bool is_known = same_mask && (!forward || has_forward_) && (!dgrad || has_dgrad_);
  if (part.is_soft()) {
    project_softly(context, part, layer, {forward, forward_}, {dgrad, dgrad_});
  } else if (forward && dgrad) {
    together.push_back({.dense = layer.weight(),
                        .mask = layer.mask,
                        .shape = *forward,
                        .storage = forward_,
                        .shape_transposed = *dgrad,
                        .storage_transposed = dgrad_,
                        .same_mask = is_known});
  } else if (forward || dgrad) {
    pack_matrix(context, {.dense = layer.weight(),
                          .mask = layer.mask,
                          .shape = forward ? *forward : *dgrad,
                          .storage = forward ? forward_ : dgrad_,
                          .transpose = !forward,
                          .same_mask = is_known});
  }
  const std::int64_t kept = std::llround(density * static_cast<double>(layer.num_weights()));
  const auto operand = [&](const std::optional<PackedShape>& shape, View storage) {
    return shape ? without_zeros({.shape = *shape, .storage = storage, .kept = kept}) : Operand();
  };
  route.forward.packed = operand(forward, forward_);
  route.dgrad.packed = operand(dgrad, dgrad_);
  has_forward_ = forward.has_value();
  has_dgrad_ = dgrad.has_value();
}

void PackedLayer::drop(const SparseLayer& layer) {
  layer.seam->route.drop_packed();
  has_forward_ = has_dgrad_ = false;
}

KeptPositions PackedLayer::positions() const {
  return {.row_begin = row_begin_, .column = column_.slice(0, num_kept_)};
}

KeptEntries PackedLayer::entries() const {
  return {.value = first(value_), .gradient = first(gradient_), .m = first(m_), .v = first(v_)};
}

void PackedLayer::begin_kept(const Context& context, const SparseLayer& layer,
                             const Moments& moments) {
  find_kept(context, {.mask = layer.mask, .row_begin = row_begin_, .column = column_});
  num_kept_ = host_values<std::int32_t>(context, row_begin_).back();
  const KeptPositions kept = positions();
  gather_kept(context, {.dense = layer.weight(), .kept = kept, .values = first(value_)});
  gather_kept(context, {.dense = moments.m, .kept = kept, .values = first(m_)});
  gather_kept(context, {.dense = moments.v, .kept = kept, .values = first(v_)});
  layer.seam->route.wgrad.kept = kept;
  layer.seam->route.wgrad.kept_gradient = first(gradient_);
  is_kept_ = true;
}

void PackedLayer::write_moments(const Context& context, const Moments& moments) const {
  scatter_all(context, first(m_), positions(), moments.m);
  scatter_all(context, first(v_), positions(), moments.v);
}

void PackedLayer::end_kept(const Context& context, const SparseLayer& layer,
                           const Moments& moments) {
  if (!is_kept()) return;
  write_moments(context, moments);
  forget_kept(layer);
}

void PackedLayer::forget_kept(const SparseLayer& layer) {
  is_kept_ = false;
  num_kept_ = 0;
  layer.seam->route.wgrad.kept = {};
  layer.seam->route.wgrad.kept_gradient = {};
}

void PackedLayer::add_shared_gradient(const Context& context, const SparseLayer& layer) const {
  if (!layer.seam->shares_weight) return;
  gather_kept(context, {.dense = layer.seam->weight->gradient,
                        .kept = positions(),
                        .values = first(gradient_),
                        .accumulate = true});
}

void PackedLayer::write_weight(const Context& context, const SparseLayer& layer) const {
  scatter_kept(context,
               {.values = first(value_), .kept = positions(), .dense = layer.seam->weight->value});
}

}  // namespace twill
