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
  // The same, and adds the gradient of `share` times the mean loss to the parameters' gradients
  // (overwrites them where pass.accumulate is false). `share` is 1 / number of micro-batches.
  virtual void compute(const Pass& pass, double share) = 0;
  // mean (1) f64 (+)= the mean loss of the last pass.
  virtual void add_mean_loss(const Pass& pass, View mean, bool accumulate) const = 0;
  virtual PassLoss read_loss(const Pass& pass) const = 0;
  // One score for each target of the batch; an absent target has {0, false}. In a model built for
  // inference.
  virtual std::vector<TargetScore> score(const Pass& pass, const Batch& batch) = 0;

  // A pass and its mean loss in one call.
  PassLoss loss(const Pass& pass, const Batch& batch);
  PassLoss loss_and_gradient(const Pass& pass, const Batch& batch, double share);

  // A place for Pass::micro_step_at, (1) i32; the caller fills it.
  View micro_step_place() const { return micro_step_; }

 protected:
  Builder& builder() const { return builder_; }
  // In front of a backward pass: the gradients that no layer overwrites.
  void clear_gradients(const Pass& pass) const;

 private:
  Builder& builder_;
  View micro_step_;  // (1) i32
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
