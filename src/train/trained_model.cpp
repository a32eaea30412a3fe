// SPDX-License-Identifier: Apache-2.0
#include "train/trained_model.h"

#include <numbers>
#include <utility>
#include <vector>

#include "data/corpus.h"
#include "train/checkpoint.h"
#include "train/evaluation.h"
#include "train/memory_use.h"
#include "train/training_run.h"

namespace twill {
namespace {

// Nothing of a file is believed before its checksum is right.
std::string checked(std::string checkpoint) {
  require_undamaged(checkpoint, CheckpointFiles::kModel);
  return checkpoint;
}

}  // namespace

TrainedModel::TrainedModel(const RunFolder& folder, const RunConfig& config, std::int64_t max_batch)
    : checkpoint_(checked(folder.require_checkpoint())),
      context_(table_for(config.device), static_cast<int>(config.threads)),
      tokenizer_(open_run_tokenizer(folder, config)),
      builder_(context_, {.dtype = DType::kF32,
                          .training = false,
                          .max_batch = max_batch,
                          .max_time = config.sequence()}),
      model_(builder_, load_model_config(checkpoint_)) {
  require_memory(builder_.memory_table());
  builder_.commit();
  load_weights(checkpoint_, builder_);
}

Evaluation evaluate(TrainedModel& model, const RunConfig& config) {
  const std::int64_t time = config.sequence(), batch = config.train.micro_batch;
  const TokenSequence tokens = load_validation(config.data, model.tokenizer(), time);
  WindowEvaluator evaluator(tokens, time, batch, config.eval.windows);
  const double loss = evaluator.mean_loss(model.context(), model.model());
  const auto count = static_cast<double>(evaluator.num_tokens());
  const auto bytes = static_cast<double>(model.tokenizer().decode(evaluator.targets()).size());
  return {.loss = loss,
          .tokens = evaluator.num_tokens(),
          .bits_per_byte = loss * count / bytes / std::numbers::ln2};
}

}  // namespace twill
