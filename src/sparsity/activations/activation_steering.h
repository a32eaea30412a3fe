// SPDX-License-Identifier: Apache-2.0
// The part `activations` over a phase: fills the seams of the FFNs, and from time to time groups
// neurons into clusters and picks those that stay dense.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "nn/builder.h"
#include "sparsity/recipe/recipe.h"

namespace twill {

// What a part says without looking at weights or activations.
void set_selection(FfnSeam& seam, const ActivationsPart& part);

// What a selection of two in `m` leaves, with all of the neurons that stay dense.
double selected_share(std::int64_t m, double dense);
// The largest share that a token can keep, but for Builder's kMostRoundedUp: a window may keep two
// besides its dense neurons.
double most_selected(const ActivationsPart& part);

struct SteeredFfn {
  FfnSeam* seam = nullptr;
  LinearSeam* input = nullptr;   // its first matrix: what neurons are clustered by
  LinearSeam* output = nullptr;  // its second one
  std::uint32_t stream = 0;
  View neuron_order = {};      // (hidden) i32
  View clusters = {};          // (hidden) i32
  View centroids = {};         // (kMaxClusters, width) f32; the first of them in use
  View centroid_operand = {};  // the same in the model's type, where that is another
  View dense_neurons = {};     // (hidden) u8
  View fixed_order = {};       // (tokens) i32
  // What holds now; the views above are valid where it says so.
  std::int64_t num_clusters = 0;
  bool has_dense = false;
  double dense_share = 0.0;  // of the neurons
};

class ActivationSteering {
 public:
  // Whether a layer is in scope of the phase, and on.
  using InScope = std::function<bool(const LinearSeam&)>;

  // Reserves memory where a phase of the recipe selects activations.
  ActivationSteering(Builder& builder, const RecipeConfig& recipe, std::uint64_t seed);

  bool exists() const { return !ffns_.empty(); }
  bool has_dense() const { return exists() && ffns_.front().has_dense; }
  // A phase begins: FFNs whose two matrices are in scope follow `part`, the others are dense.
  void enter(const Context& context, const ActivationsPart& part, const InScope& in_scope);
  // New clusters and a new dense share, from the weights and the last measurement.
  void refresh(const Context& context, const ActivationsPart& part, const InScope& in_scope);
  // Points the seams at what is held: after enter(), refresh() or a restored checkpoint.
  void apply(const Context& context, const ActivationsPart& part, const InScope& in_scope);

  std::deque<SteeredFfn>& ffns() { return ffns_; }
  const std::deque<SteeredFfn>& ffns() const { return ffns_; }

 private:
  void cluster(const Context& context, SteeredFfn& ffn, const ActivationsPart& part) const;
  void choose_dense(const Context& context, SteeredFfn& ffn, const ActivationsPart& part) const;
  void order_neurons(const Context& context, SteeredFfn& ffn, const ActivationsPart& part) const;

  std::deque<SteeredFfn> ffns_;
  std::uint64_t seed_;
};

}  // namespace twill
