// SPDX-License-Identifier: Apache-2.0
// The part `weights` over a run: masks, projected and packed weights of the layers in scope, and what
// their seams are told.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "nn/builder.h"
#include "sparsity/engine/run_position.h"
#include "sparsity/weights/deployment.h"
#include "sparsity/weights/weight_projection.h"

namespace twill {

class WeightSteering {
 public:
  // Reserves what the phases of the recipe need; layers that no phase touches are not among layers().
  WeightSteering(Builder& builder, const RunPosition& at);
  WeightSteering(const WeightSteering&) = delete;
  WeightSteering& operator=(const WeightSteering&) = delete;

  std::deque<SparseLayer>& layers() { return layers_; }
  const std::deque<SparseLayer>& layers() const { return layers_; }
  // In scope of the phase, and on.
  bool in_scope(const SparseLayer& layer) const { return at_.in_scope(*layer.seam); }
  bool any_in_scope() const;
  std::vector<SparseLayer*> scoped();
  bool projects() const { return twill::projects(at_.phase()) && any_in_scope(); }

  // A phase begins: scales are frozen and masks chosen.
  void enter_phase(const Context& context);
  // Masks of a hard projection that are kept for some steps; `age` is the phase's.
  bool masks_due(std::int64_t age) const;
  // Counting flips makes the host wait for the device.
  void choose_masks(const Context& context, bool counts_flips);
  // Behind an update: masks that belong to every step.
  void renew_masks(const Context& context, bool counts_flips);
  void note_new_masks() { masks_changed_ = true; }
  void project_all(const Context& context);
  void pack_all(const Context& context);
  // Tells the seams what the phase asks of their products.
  void point_seams();
  // Tells the parameters how pruned entries are pulled.
  void write_pulls();

  // Share of elements in which two masks differ.
  double difference(const Context& context, ConstView a, ConstView b) const;
  bool compares_masks() const { return static_cast<bool>(after_); }
  // Scratch: a mask like the layer's, and sums for ops/selection/mask.h.
  View other_mask(const SparseLayer& layer) const;
  View sums() const { return sums_; }

  // Of the layers whose forward product takes a projected weight now.
  std::vector<Deployment> deployments() const;
  void save(std::vector<StateTensor>& tensors) const;
  void save(StateTexts& texts) const;
  void restore(const StateTexts& texts);

 private:
  void reserve(Builder& builder);
  void reserve_packed(Builder& builder);
  void check_layer(const LinearSeam& seam) const;
  void check_globs() const;
  // Both products of the layer run packed wherever a phase projects its weight.
  bool is_always_packed(const Builder& builder, const SparseLayer& layer) const;
  bool keeps_mask() const;
  void set_scale(const Context& context, SparseLayer& layer) const;
  void point_seam(const SparseLayer& layer) const;

  const RunPosition& at_;
  std::deque<SparseLayer> layers_;
  View sums_;                  // (5) f64
  View after_;                 // u8, the largest layer
  bool masks_changed_ = true;  // since weights were packed last
};

}  // namespace twill
