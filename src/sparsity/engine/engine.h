// SPDX-License-Identifier: Apache-2.0
// Steers the seams of a model through the phases of a recipe. The trainer calls it at fixed places of
// a step; it knows parts, never a recipe's name.
//
//   before_step      phase changes, new masks where due, projected weights
//   … micro-batches …
//   after_backward   a kept topology hides gradients (not before one of its updates)
//   … norm, clipping …
//   update_topology  in place of the optimizer's step, where updates_topology() says so; or
//   before_update    decay; the optimizer's step follows
//   after_update     projections of the new weights, sample of health
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nn/builder.h"
#include "sparsity/account/flop_account.h"
#include "sparsity/account/health.h"
#include "sparsity/activations/activation_steering.h"
#include "sparsity/plan/plan.h"
#include "sparsity/recipe/phase_clock.h"
#include "sparsity/recipe/recipe.h"
#include "sparsity/topology/topology_steering.h"
#include "sparsity/weights/deployment.h"
#include "sparsity/weights/weight_projection.h"

namespace twill {

class SparsityEngine {
 public:
  // The builder is not committed yet; `recipe` is validated against the length of the run.
  SparsityEngine(Builder& builder, const RecipeConfig& recipe, const RunLength& length,
                 std::int64_t sequence, std::uint64_t seed, const Plan& plan = {});
  SparsityEngine(const SparsityEngine&) = delete;
  SparsityEngine& operator=(const SparsityEngine&) = delete;

  // Where the optimizer keeps its state: packed execution of a kept topology moves it. Once, before
  // the first step.
  void set_moments(MomentsOf moments) { moments_ = std::move(moments); }

  // What a recipe asks of the builder that the model is built with.
  static Builder::Options asked_of(const RecipeConfig& recipe, Builder::Options options,
                                   const Plan& plan);

  // `step` counts from 0 everywhere. A step that was begun and given up may begin again, also after
  // a resume: what is done once per step is not done twice.
  void before_step(const Context& context, std::int64_t step);
  void after_backward(const Context& context, std::int64_t step);
  bool updates_topology(std::int64_t step) const;
  // Whether the optimizer's step is left out then. update_topology() moves the schedule on: ask
  // updates_topology() before it.
  bool skips_optimizer() const { return phase().optimizer.on_update == OnUpdate::kSkip; }
  void update_topology(const Context& context, std::int64_t step);
  // What norm and update shall take in place of the parameter; absent: the parameter.
  std::optional<KeptEntries> kept_entries(const Parameter& parameter) const;
  // The optimizer's own state is up to date: before somebody else reads it.
  void write_moments(const Context& context) const;
  // `clip_scale` is the factor that clipping puts on gradients; `lr_of` is a parameter's own learning
  // rate. Gradients of parameters for which is_scaled() is true carry the factor afterwards.
  void before_update(const Context& context, double clip_scale,
                     const std::function<double(const Parameter&)>& lr_of);
  bool is_scaled(const Parameter& parameter) const;
  // The same decay for who clips and updates at once; absent: none.
  struct Decay {
    ConstView mask;
    double lambda = 0.0;
  };
  std::optional<Decay> decay_of(const Parameter& parameter) const;
  // Changes whenever layers are told to run otherwise: recorded passes and updates are out of date.
  std::int64_t arrangement() const { return arrangement_; }
  bool freezes_second_moments() const;
  void after_update(const Context& context, std::int64_t step);

  // STEP's criterion: whether the trainer should measure the change of the second moments now, and
  // what it found, as a mean over all elements; `beta2` decides over how many steps it is averaged.
  bool watches_moments() const;
  void observe_moment_change(std::int64_t step, double mean_change, double beta2);

  // A sample belongs to the step just done, if one was due.
  std::optional<HealthSample> take_sample();
  bool samples(std::int64_t step) const;

  // FLOPs of a step on hardware that leaves zeros out, and of the run so far.
  Flops flops_per_token(std::int64_t step) const;
  void count_step(std::int64_t step, std::int64_t tokens);
  // The step counted last will be done again.
  void uncount_step() { account_ = FlopAccount(flops_before_); }
  const Flops& flops() const { return account_.total(); }
  // A resumed run that has no state of its own: all its tokens were dense.
  void restore_dense(std::int64_t tokens);

  // Where the run stands: "2:4-transposable", "dense", …; for progress lines and reports.
  const PhaseConfig& phase() const;
  std::int64_t phase_index() const { return clock_.index(); }
  // Of a step to come, if no phase ends early.
  std::int64_t phase_at(std::int64_t step) const { return clock_.phase_at(step); }
  bool forced_dense() const { return forced_dense_; }
  const std::deque<SparseLayer>& layers() const { return layers_; }
  bool in_scope(const SparseLayer& layer) const;
  const TopologySteering& topology() const { return topology_; }
  const RecipeConfig& recipe() const { return recipe_; }
  const Plan& plan() const { return plan_; }
  // Layers in scope of the current phase, and how many of them the plan has turned off.
  std::int64_t num_in_scope() const;
  std::int64_t num_off() const;

  // Forward and dgrad take the master weights while it lives: the plain model.
  class MasterWeights {
   public:
    explicit MasterWeights(SparsityEngine& engine);
    ~MasterWeights();
    MasterWeights(const MasterWeights&) = delete;
    MasterWeights& operator=(const MasterWeights&) = delete;

   private:
    SparsityEngine& engine_;
    struct Operands {
      ConstView forward, dgrad;
      PackedMatrix packed_forward, packed_dgrad;
    };
    std::vector<Operands> saved_;
  };
  bool projects_weights() const;
  // Whether a training pass computes another function than a plain one on the same weights.
  bool trains_otherwise() const;

  // A checkpoint's share: tensors by name (written and read in place) and texts.
  struct StateTensor {
    std::string name;
    View view;
  };
  std::vector<StateTensor> state_tensors() const;
  std::map<std::string, std::string> state_texts() const;
  // Of the layers whose forward product takes a projected weight now.
  std::vector<Deployment> deployments() const;
  bool has_state() const { return !layers_.empty() || activations_.exists(); }
  // After the tensors and the master weights are back in place.
  void restore(const Context& context, const std::map<std::string, std::string>& texts);

 private:
  friend class MasterWeights;
  void reserve(Builder& builder);
  void check_layer(const LinearSeam& seam) const;
  void check_globs() const;
  void prepare(const Context& context, std::int64_t step);
  void enter_phase(const Context& context, std::int64_t step);
  void point_seams();
  // Counting flips makes the host wait for the device.
  void refresh_masks(const Context& context, bool counts_flips);
  void project_all(const Context& context);
  void set_scales(const Context& context);
  void mask_gradients(const Context& context);
  std::vector<SparseLayer*> scoped();
  const std::vector<std::string>& scope_words() const;
  bool keeps_mask() const;
  bool any_in_scope() const;
  bool cluster_due(std::int64_t age) const;
  bool measure_due(std::int64_t step) const;

  // engine_packed.cpp
  void reserve_packed(Builder& builder);
  // Both products of the layer run packed wherever a phase projects its weight.
  bool is_always_packed(const Builder& builder, const SparseLayer& layer) const;
  void pack_all(const Context& context);
  ActivationSteering::InScope layers_that_are_on() const;
  // Behind every change of what FFNs select.
  void point_packed_activations();
  const PlanEntry& entry_of(const SparseLayer& layer) const;
  bool wants_kept(const SparseLayer& layer, std::int64_t step) const;
  void arrange_kept(const Context& context, std::int64_t step);
  void end_kept(const Context& context);

  // engine_health.cpp
  // Share of elements in which two masks differ.
  double difference(const Context& context, ConstView a, ConstView b) const;
  void begin_sample(const Context& context);
  void end_sample(const Context& context, std::int64_t step);
  // The mask whose flips are counted: the phase's own, or the virtual one; dense: none.
  const WeightsPart& sampled_part() const;
  void current_mask(const Context& context, const SparseLayer& layer, View mask) const;
  LayerHealth sample_layer(const Context& context, std::size_t index) const;
  void raise_alarm(const Context& context);

  // engine_flops.cpp
  std::vector<LinearCost> linear_costs() const;

  Plan plan_;
  RecipeConfig recipe_;
  PhaseConfig dense_phase_;
  WeightsPart virtual_part_;
  PhaseClock clock_;
  TopologySteering topology_;
  ActivationSteering activations_;
  std::deque<SparseLayer> layers_;
  std::vector<double> interval_flips_;  // per layer
  std::deque<LinearSeam>* linear_seams_;
  std::deque<AttentionSeam>* attention_seams_;
  std::deque<FfnSeam>* ffn_seams_;
  std::int64_t sequence_;
  std::int64_t num_steps_;
  std::int64_t attention_width_ = 0;
  FlopAccount account_;
  // The share of pairs costs T² to count: kept until the pattern changes.
  mutable AttentionPattern kept_pattern_ = AttentionPattern::kCausal;
  mutable std::int64_t kept_stride_ = 0;
  mutable double kept_pairs_ = 1.0;
  Flops flops_before_;          // in front of the step counted last
  std::int64_t prepared_ = -1;  // the step that prepare() was called for last
  bool forced_dense_ = false;
  View sums_;   // (5) f64
  View after_;  // u8, the largest layer: the mask behind a sampled step
  std::vector<double> moment_changes_;
  FlipAlarm alarm_;
  std::optional<HealthSample> sample_;
  MomentsOf moments_;
  bool masks_changed_ = true;  // since weights were packed last
  std::int64_t arrangement_ = 0;
};

}  // namespace twill
