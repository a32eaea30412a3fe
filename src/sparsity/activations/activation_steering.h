// SPDX-License-Identifier: Apache-2.0
// The part `activations` over a phase: fills the seams of the FFNs, and from time to time groups
// neurons into clusters and picks those that stay dense.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "nn/builder.h"
#include "sparsity/engine/run_position.h"

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
  // Reserves memory where a phase of the recipe selects activations.
  ActivationSteering(Builder& builder, const RunPosition& at, std::uint64_t seed);
  ActivationSteering(const ActivationSteering&) = delete;
  ActivationSteering& operator=(const ActivationSteering&) = delete;

  bool exists() const { return !ffns_.empty(); }
  // A phase begins: FFNs whose two matrices are in scope follow its part, the others are dense.
  void enter_phase(const Context& context);
  // New clusters and a new dense share, from the weights and the last measurement, where they are
  // due: when a phase was `entered`, and every so often in it. True where seams have changed.
  bool prepare(const Context& context, std::int64_t age, bool entered);
  // Points the seams at what is held.
  void apply(const Context& context);

  // Counts what fires in the passes to come, where `samples` or the next step needs it. True where
  // that is another answer than before.
  bool begin_measuring(std::int64_t step, bool samples);
  void end_measuring();

  const std::deque<SteeredFfn>& ffns() const { return ffns_; }
  const std::deque<FfnSeam>& seams() const { return *seams_; }

  void save(std::vector<StateTensor>& tensors) const;
  void save(StateTexts& texts) const;
  void restore(const Context& context, const StateTexts& texts);

 private:
  bool is_due(std::int64_t age) const;
  bool is_measured_for(std::int64_t step) const;
  void refresh(const Context& context);
  void point_packed() const;
  void cluster(const Context& context, SteeredFfn& ffn, const ActivationsPart& part) const;
  void choose_dense(const Context& context, SteeredFfn& ffn, const ActivationsPart& part) const;
  void order_neurons(const Context& context, SteeredFfn& ffn, const ActivationsPart& part) const;

  const RunPosition& at_;
  std::deque<FfnSeam>* seams_;  // all of the model
  std::deque<SteeredFfn> ffns_;
  std::uint64_t seed_;
  bool measures_ = false;
};

}  // namespace twill
