// SPDX-License-Identifier: Apache-2.0
#include "sparsity/packed_layer.h"

#include <algorithm>
#include <cmath>

#include "ops/fill.h"
#include "ops/transfer.h"
#include "sparsity/topology_steering.h"
#include "sparsity/weight_projection.h"

namespace twill {
namespace {

// Greedy masks are not: some of their blocks keep seven entries.
bool is_transposable(const WeightsPart& part) { return part.pattern == "2:4-transposable"; }

std::int64_t entries_at(const SparseLayer& layer, double density) {
  const auto weights = static_cast<double>(layer.num_weights());
  return static_cast<std::int64_t>(std::ceil(std::min(1.0, density) * weights));
}

PackedShape transposed(const PackedShape& shape) {
  return {
      .pattern = shape.pattern, .rows = shape.cols, .cols = shape.rows, .max_kept = shape.max_kept};
}

void scatter_all(const Context& context, ConstView values, const KeptPositions& kept, View dense) {
  fill(context, {.x = dense});
  scatter_kept(context, {.values = values, .kept = kept, .dense = dense});
}

}  // namespace

double density_of(const WeightsPart& part, const SparseLayer& layer) {
  if (part.is_dense()) return 1.0;
  if (part.is_topology()) return layer.density;
  return part.pattern == "V:2:M" ? 2.0 / static_cast<double>(part.m) : 0.5;
}

void PackedLayer::reserve(Builder& builder, const SparseLayer& layer,
                          const std::vector<PlanEntry>& entries, bool has_topology) {
  double forward = 0.0, dgrad = 0.0, wgrad = 0.0;
  for (const PlanEntry& entry : entries) {
    if (!entry.on) continue;
    forward = std::max(forward, entry.forward_below);
    dgrad = std::max(dgrad, entry.dgrad_below);
    wgrad = std::max(wgrad, entry.wgrad_below);
  }
  const Shape& shape = layer.seam->weight->shape;
  // Phases may pack by different patterns: the largest form has room.
  const auto reserve_one = [&](double below, PackedShape packed, View& storage) {
    packed.max_kept = entries_at(layer, below);
    PackedShape transposable = packed;
    transposable.pattern = PackedPattern::kTransposable24;
    const Context& context = builder.context();
    builder.packed_bytes(
        storage, std::max(packed_bytes(context, packed), packed_bytes(context, transposable)));
    return packed;
  };
  const PackedShape plain{.rows = shape[0], .cols = shape[1]};
  if (forward > 0.0) forward_shape_ = reserve_one(forward, plain, forward_);
  if (dgrad > 0.0) dgrad_shape_ = reserve_one(dgrad, transposed(plain), dgrad_);
  if (wgrad <= 0.0 || !has_topology) return;
  const std::int64_t kept = entries_at(layer, wgrad);
  builder.packed_state(row_begin_, DType::kI32, {shape[0] + 1});
  builder.packed_state(column_, DType::kI32, {kept});
  for (View* array : {&value_, &gradient_, &m_, &v_})
    builder.packed_state(*array, DType::kF32, {kept});
}

void PackedLayer::pack_one(const Context& context, const SparseLayer& layer,
                           const WeightsPart& part, bool transpose, bool same_mask) {
  PackedShape& shape = transpose ? dgrad_shape_ : forward_shape_;
  const View storage = transpose ? dgrad_ : forward_;
  shape.pattern = is_transposable(part) ? PackedPattern::kTransposable24 : PackedPattern::kAny;
  // A soft projection has no mask: it keeps what it has not made zero.
  const bool is_soft = part.is_soft();
  pack_matrix(context, {.dense = is_soft ? ConstView(layer.projected) : layer.weight(),
                        .mask = is_soft ? ConstView() : ConstView(layer.mask),
                        .shape = shape,
                        .storage = storage,
                        .transpose = transpose,
                        .same_mask = same_mask && !is_soft});
  const double kept = density_of(part, layer) * static_cast<double>(layer.num_weights());
  (transpose ? layer.seam->packed_dgrad : layer.seam->packed_forward) = {
      .shape = shape, .storage = storage, .kept = std::llround(kept)};
}

void PackedLayer::pack(const Context& context, const SparseLayer& layer, const WeightsPart& part,
                       const PlanEntry& entry, bool same_mask) {
  LinearSeam& seam = *layer.seam;
  const double density = density_of(part, layer);
  const bool hides = part.is_topology();  // the weight itself is what products take
  const PackedActivations& other = seam.packed_activations;  // their zeros are left out instead
  const bool forward =
      density < entry.forward_below && (hides || seam.forward) && other.forward == 0.0;
  const bool dgrad = density < entry.dgrad_below && (hides || seam.dgrad) && other.dgrad == 0.0;
  if (forward) pack_one(context, layer, part, /*transpose=*/false, same_mask && has_forward_);
  if (dgrad) pack_one(context, layer, part, /*transpose=*/true, same_mask && has_dgrad_);
  if (!forward) seam.packed_forward = {};
  if (!dgrad) seam.packed_dgrad = {};
  has_forward_ = forward;
  has_dgrad_ = dgrad;
}

void PackedLayer::drop(const SparseLayer& layer) {
  layer.seam->packed_forward = layer.seam->packed_dgrad = {};
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
  layer.seam->kept = kept;
  layer.seam->kept_gradient = first(gradient_);
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
  layer.seam->kept = {};
  layer.seam->kept_gradient = {};
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
