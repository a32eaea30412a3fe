// SPDX-License-Identifier: Apache-2.0
// From a master weight to what the products multiply with: the part `weights` of a phase.
#pragma once

#include <deque>
#include <string>

#include "nn/builder.h"
#include "sparsity/recipe/recipe.h"
#include "sparsity/weights/packed_layer.h"

namespace twill {

// A layer in scope and what is kept for it. Views are absent where no phase needs them.
struct SparseLayer {
  LinearSeam* seam = nullptr;
  View mask = {};               // u8: the mask in force
  View projected = {};          // what forward and dgrad take
  bool is_unpacked = false;     // `projected` is shared scratch: see Route::unpacked
  View before = {};             // u8: the mask before a sampled step
  View grown = {};              // u8: what an update of the topology has added
  double beta = 1.0;            // scale of a soft projection
  double density = 1.0;         // of a kept topology
  double interval_flips = 0.0;  // share of the mask that its last refresh or update has changed
  PackedLayer packed = {};

  ConstView weight() const { return seam->weight->value; }
  std::int64_t num_weights() const { return seam->weight->shape.num_elements(); }
};

// What the axis of a part means for this layer.
GroupAxis axis_of(WeightAxis axis, const LinearSeam& seam);

// The mask that `part` would choose for `weight` now: of a soft projection its hard 2:4 mask.
void choose_mask(const Context& context, const WeightsPart& part, const LinearSeam& seam,
                 ConstView weight, View mask);

// `sums` is (4) f64 scratch.
double soft_scale(const Context& context, const WeightsPart& part, const SparseLayer& layer,
                  View sums);

// Fills layer.projected from the weight, by the mask or the threshold.
void project(const Context& context, const WeightsPart& part, const SparseLayer& layer);

// Sets the weights outside layer.mask to zero, masters and operands: of a kept topology.
void hide_weights(const Context& context, const SparseLayer& layer);

// Throws when the pattern cannot divide the layer's dimensions.
void require_divisible(const WeightsPart& part, const LinearSeam& seam);
// The same for every phase and the layers in its scope, before anything is made for them.
void require_divisible(const RecipeConfig& recipe, const std::deque<LinearSeam>& layers);

}  // namespace twill
