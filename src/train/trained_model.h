// SPDX-License-Identifier: Apache-2.0
// A model read back from a run, ready to be asked: no gradients, no optimizer.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer.h"
#include "models/decoder.h"
#include "nn/builder.h"
#include "train/run_config.h"
#include "train/run_folder.h"

namespace twill {

class TrainedModel {
 public:
  // `config` is the run's, `max_batch` the most sequences a pass will have.
  TrainedModel(const RunFolder& folder, const RunConfig& config, std::int64_t max_batch);

  const std::string& checkpoint() const { return checkpoint_; }
  const Context& context() const { return context_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  Decoder& model() { return model_; }

 private:
  std::string checkpoint_;
  Context context_;
  std::unique_ptr<Tokenizer> tokenizer_;
  Builder builder_;
  Decoder model_;
};

struct Evaluation {
  double loss = 0.0;  // mean over tokens, in nats
  std::int64_t tokens = 0;
  double bits_per_byte = 0.0;
};

// Loss over windows of the validation text, at most `config.eval.windows` of them.
Evaluation evaluate(TrainedModel& model, const RunConfig& config);

}  // namespace twill
