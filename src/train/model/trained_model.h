// SPDX-License-Identifier: Apache-2.0
// A model read from disk, ready to be asked: no gradients, no optimizer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "models/model.h"
#include "nn/builder.h"
#include "train/model/any_model.h"
#include "train/run/run_config.h"
#include "train/run/run_folder.h"

namespace twill {

class TrainedModel {
 public:
  // `max_batch` is the most sequences a pass will have; 0 takes config.train.micro_batch, and 1 also
  // gives the model a cache for decoding. The longest is config.sequence().
  TrainedModel(AnyModel model, std::int64_t max_batch);
  // `config` is the run's.
  TrainedModel(const RunFolder& folder, const RunConfig& config, std::int64_t max_batch);

  // The checkpoint, or the foreign folder or file.
  const std::string& checkpoint() const { return any_.source->path(); }
  // The run's config, or the defaults around a foreign model.
  const RunConfig& config() const { return any_.config; }
  const ModelSource& source() const { return *any_.source; }
  bool is_run() const { return any_.is_run; }
  const Context& context() const { return context_; }
  // Throws twill::Error where the run has none (data.tokenizer = "none").
  const Tokenizer& tokenizer() const;
  const Tokenizer* find_tokenizer() const { return tokenizer_.get(); }
  Model& model() { return *model_; }
  // Throws twill::Error where the model writes no text.
  LanguageModel& language_model() { return as_language_model(*model_, checkpoint()); }

 private:
  AnyModel any_;
  Context context_;
  std::unique_ptr<Tokenizer> tokenizer_;
  Builder builder_;
  std::unique_ptr<Model> model_;
};

// `where`: a run (name, path or checkpoint), a Hugging Face folder, or a model file. Overrides are
// key=value pairs; they may not change the model. train.sequence bounds the memory of a model with
// a long context.
std::unique_ptr<TrainedModel> open_trained_model(const std::string& where,
                                                 const std::string& runs_dir,
                                                 std::int64_t max_batch,
                                                 const std::vector<std::string>& overrides = {});

struct Evaluation {
  double loss = 0.0;  // mean over tokens, in nats
  std::int64_t tokens = 0;
  std::optional<double> bits_per_byte = {};  // of data that have a tokenizer
};

// Loss over windows of the validation text, at most `config.eval.windows` of them.
Evaluation evaluate(TrainedModel& model, const RunConfig& config);

}  // namespace twill
