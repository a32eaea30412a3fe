// SPDX-License-Identifier: Apache-2.0
// What training, evaluation, plans and checkpoints know of a model. Its parameters and the sites of
// its layers are registered with the Builder it is made with.
//
// A pass goes in three steps: load() puts a batch where the layers read it, compute() or forward()
// gives the work to the queue and waits for nothing, read_loss() or add_mean_loss() tells what came of
// it. So the middle one can be recorded. A new family: CONTRIBUTING.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/model_config.h"
#include "nn/builder.h"
#include "nn/pass.h"
#include "nn/target_loss.h"
#include "tensor/batch.h"

namespace twill {

class Model {
 public:
  // The builder outlives the model.
  explicit Model(Builder& builder);
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // The longest sequence that this instance has memory for.
  std::int64_t max_time() const { return builder_.options().max_time; }

  // Which arrays of the batch are read is the model's contract. Throws twill::Error for values that
  // it cannot read, ids outside of its vocabulary among them.
  virtual void load(const Pass& pass, const Batch& batch) = 0;
  // The losses of the targets.
  virtual void forward(const Pass& pass) = 0;
  // The same, and adds the gradient of scale.share / scale.count times the sum of the losses to the
  // parameters' gradients (overwrites them where pass.accumulate is false). Where there is no count,
  // the pass's own number of targets stands for it.
  virtual void compute(const Pass& pass, const LossScale& scale) = 0;
  // mean (1) f64 (+)= the sum of the last pass's losses over `count` (1) f64, or over its own number.
  virtual void add_mean_loss(const Pass& pass, ConstView count, View mean,
                             bool accumulate) const = 0;
  // count (1) f64 (+)= how many targets load() has found.
  virtual void count_targets(const Pass& pass, View count, bool accumulate) const = 0;
  virtual PassLoss read_loss(const Pass& pass) const = 0;
  // One score for each target of the batch; an absent target has {0, false}. In a model built for
  // inference.
  virtual std::vector<TargetScore> score(const Pass& pass, const Batch& batch) = 0;

  // A pass and its mean loss in one call.
  PassLoss loss(const Pass& pass, const Batch& batch);
  PassLoss loss_and_gradient(const Pass& pass, const Batch& batch, const LossScale& scale = {});

  // A place for Pass::micro_step_at, (1) i32; the caller fills it.
  View micro_step_place() const { return micro_step_; }
  // Places for the number of a step's targets, (3) f64: train/step/step_targets.h fills them.
  View step_targets_place() const { return step_targets_; }

 protected:
  Builder& builder() const { return builder_; }
  // In front of a backward pass: the gradients that no layer overwrites.
  void clear_gradients(const Pass& pass) const;

 private:
  Builder& builder_;
  View micro_step_;    // (1) i32
  View step_targets_;  // (3) f64
};

// A model that says what comes next in a row of tokens.
class LanguageModel : public Model {
 public:
  using Model::Model;

  virtual std::int64_t vocab() const = 0;
  // Logits (vocab) behind the last token of one sequence; valid until the next call. With pass.cached
  // the tokens follow on the pass.past tokens of earlier calls (models/decoding.h does the counting).
  virtual ConstView next_token_logits(const Pass& pass, std::span<const std::int32_t> tokens) = 0;
  // Whether this instance has a cache: the builder's option `decoding`.
  bool has_cache() const { return builder().options().decoding; }
};

// Throws twill::Error, "`what` needs a model that writes text …", where it is none.
LanguageModel& as_language_model(Model& model, std::string_view what);

// The model of a resolved config, of the family that it names (models/families.h).
std::unique_ptr<Model> make_model(Builder& builder, const ModelConfig& config);

}  // namespace twill
