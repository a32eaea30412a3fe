// SPDX-License-Identifier: Apache-2.0
// One model, its optimizer and its place in the data: everything that a checkpoint holds, and the
// step that moves it on. No files, no terminal.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "data/open_data.h"
#include "models/model.h"
#include "nn/builder.h"
#include "sparsity/engine/engine.h"
#include "train/run/run_config.h"
#include "train/step/optimizer.h"
#include "train/step/step.h"

namespace twill {

// Where a run stands. With the weights and the moments this is all of its state.
struct Progress {
  std::int64_t step = 0;     // optimizer steps taken, skipped ones included
  std::int64_t updates = 0;  // updates applied: what Adam's bias correction counts
  std::int64_t tokens = 0;   // tokens learnt from
  std::int64_t windows = 0;  // position in the data

  friend bool operator==(const Progress&, const Progress&) = default;
};

struct StepResult {
  std::int64_t step = 0;
  std::int64_t tokens = 0;  // learnt from so far
  double loss = 0.0;
  double lr = 0.0;
  double grad_norm = 0.0;
  double seconds = 0.0;
  // Loss or gradient was NaN or infinite: no update was applied. What follows is the caller's
  // policy.
  bool finite = true;
  // The topology moved instead of the weights.
  bool topology_update = false;
};

double tokens_per_second(const StepResult& result, const RunConfig& config);

class Trainer {
 public:
  // `config` is resolved. Memory is reserved, not taken: memory_table() can be shown before begin().
  // `plan` says how the recipe's layers run; without one, execution "auto" is measured here.
  Trainer(const Context& context, const RunConfig& config, TrainingData data,
          std::optional<Plan> plan = {});
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  std::vector<MemoryLine> memory_table() const { return builder_.memory_table(); }

  // Takes the memory and draws the initial weights. With a reducer, which outlives the trainer, it is
  // one of several processes, each with micro-batches of its own: Progress counts one process's.
  void begin(Reducer* reducer = nullptr);

  // The learning rate of a step, which counts from 1, in place of the config's schedule. Behind begin().
  void set_schedule(std::function<double(std::int64_t step)> schedule);

  StepResult step();
  // The same, but gives up between micro-batches when `stop` is set: nothing has changed then.
  std::optional<StepResult> step_unless(const std::atomic<bool>& stop);

  // A step whose update was not applied will be done again: `before` is where it began.
  void take_back(const Progress& before);

  bool has_validation() const { return data_.validation != nullptr; }
  // Mean loss over the validation examples, of the model as it would be exported now: projected
  // weights, but every activation, and attention as the model was built.
  double evaluate();
  // The same of the plain master weights, and of the model with everything as in training: what a
  // sparse phase hides. Equal to evaluate() where the recipe does nothing of the kind.
  double evaluate_master();
  double evaluate_as_trained();

  const RunConfig& config() const { return config_; }
  const Context& context() const { return context_; }
  Builder& builder() { return builder_; }
  const Builder& builder() const { return builder_; }
  Optimizer& optimizer() { return optimizer_; }
  const Optimizer& optimizer() const { return optimizer_; }
  Model& model() { return *model_; }
  SparsityEngine& sparsity() { return sparsity_; }
  const SparsityEngine& sparsity() const { return sparsity_; }
  const Data& data() const { return *data_.train; }
  Progress& progress() { return progress_; }
  const Progress& progress() const { return progress_; }

 private:
  double mean_validation_loss(bool as_trained);

  const Context& context_;
  RunConfig config_;
  TrainingData data_;
  Builder builder_;
  std::unique_ptr<Model> model_;
  Optimizer optimizer_;
  SparsityEngine sparsity_;
  Progress progress_;
  std::optional<Step> step_;  // behind begin()
};

}  // namespace twill
