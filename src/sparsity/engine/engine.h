// SPDX-License-Identifier: Apache-2.0
// Steers the seams of a model and the updates of its parameters through the phases of a recipe. It
// knows parts, never a recipe's name, and only puts them in order: each part has its own class and
// its own share of a checkpoint. A step (train/step/step.h) calls it at fixed places:
//
//   before_step      phase changes, new masks where due, projected weights, what an update will do
//   … micro-batches …
//   end_passes
//   hide_gradients   of a kept topology (not before one of its updates)
//   … norm …
//   update_topology  where updates_topology() says so; skips_optimizer(): in place of the update
//   … update …
//   after_update     projections of the new weights, sample of health
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "nn/builder.h"
#include "sparsity/account/health_watch.h"
#include "sparsity/account/step_account.h"
#include "sparsity/activations/activation_steering.h"
#include "sparsity/engine/run_position.h"
#include "sparsity/plan/what_runs.h"
#include "sparsity/recipe/moment_watch.h"
#include "sparsity/topology/kept_arrays.h"
#include "sparsity/topology/topology_steering.h"
#include "sparsity/weights/weight_steering.h"

namespace twill {

class SparsityEngine {
 public:
  // The builder is not committed yet; `recipe` is validated against the length of the run.
  SparsityEngine(Builder& builder, const RecipeConfig& recipe, const RunLength& length,
                 std::int64_t sequence, std::uint64_t seed, const Plan& plan = {});

  // What a recipe asks of the builder that the model is built with.
  static Builder::Options asked_of(const RecipeConfig& recipe, Builder::Options options,
                                   const Plan& plan);

  // `step` counts from 0 everywhere. A step that was begun and given up may begin again, also after
  // a resume: what is done once per step is not done twice.
  void before_step(const Context& context, std::int64_t step);
  void end_passes() { activations_.end_measuring(); }
  void hide_gradients(const Context& context) const { kept_.hide_gradients(context); }
  bool updates_topology(std::int64_t step) const;
  // Whether the update is left out then. update_topology() moves the schedule on: ask before it.
  bool skips_optimizer() const { return phase().optimizer.on_update == OnUpdate::kSkip; }
  void update_topology(const Context& context, std::int64_t step);
  void after_update(const Context& context, std::int64_t step);
  // Changes whenever layers or updates run otherwise: recorded work is out of date.
  std::int64_t arrangement() const { return arrangement_; }
  bool freezes_second_moments() const;
  // The parameters' moments are up to date: before somebody else reads them.
  void write_moments(const Context& context) const { kept_.write_moments(context); }

  MomentWatch& moment_watch() { return moment_watch_; }
  bool samples(std::int64_t step) const { return health_.samples(step); }
  std::optional<HealthSample> take_sample() { return health_.take_sample(); }
  void count_step(std::int64_t step, std::int64_t tokens);
  StepAccount& account() { return account_; }
  const Flops& flops() const { return account_.total(); }

  const PhaseConfig& phase() const { return at_.phase(); }
  std::int64_t phase_index() const { return at_.clock().index(); }
  // Of a step to come, if no phase ends early.
  std::int64_t phase_at(std::int64_t step) const { return at_.clock().phase_at(step); }
  std::int64_t phase_begin() const { return at_.clock().begin(); }
  bool forced_dense() const { return at_.forced_dense(); }
  // What the recipe trains under the plan, and in the current phase; nullptr: that is dense.
  const std::vector<PhaseRuns>& runs() const { return runs_; }
  const PhaseRuns* runs_of_phase() const;
  const RecipeConfig& recipe() const { return at_.recipe(); }
  const Plan& plan() const { return at_.plan(); }
  const TopologySteering& topology() const { return topology_; }
  std::deque<SparseLayer>& layers() { return weights_.layers(); }
  const std::deque<SparseLayer>& layers() const { return weights_.layers(); }
  bool in_scope(const SparseLayer& layer) const { return weights_.in_scope(layer); }
  // Layers in scope of the current phase, and how many of them the plan has turned off.
  std::int64_t num_in_scope() const;
  std::int64_t num_off() const;
  bool projects_weights() const { return weights_.projects(); }
  // Whether a training pass computes another function than a plain one on the same weights.
  bool trains_otherwise() const;

  bool has_state() const { return !layers().empty() || activations_.exists(); }
  std::vector<StateTensor> state_tensors() const;
  StateTexts state_texts() const;
  std::vector<Deployment> deployments() const { return weights_.deployments(); }
  // After the tensors and the master weights are back in place.
  void restore(const Context& context, const StateTexts& texts);

 private:
  void prepare(const Context& context, std::int64_t step);
  void enter_phase(const Context& context, std::int64_t step);
  void point_seams();
  void write_updates();

  RunPosition at_;
  std::vector<PhaseRuns> runs_;
  ActivationSteering activations_;
  WeightSteering weights_;
  TopologySteering topology_;
  KeptArrays kept_;
  HealthWatch health_;
  MomentWatch moment_watch_;
  StepAccount account_;
  std::deque<Parameter>* parameters_;
  std::deque<AttentionSeam>* attention_seams_;
  std::int64_t sequence_;
  std::int64_t prepared_ = -1;  // the step that prepare() was called for last
  std::int64_t arrangement_ = 0;
};

}  // namespace twill
