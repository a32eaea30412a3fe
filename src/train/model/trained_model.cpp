// SPDX-License-Identifier: Apache-2.0
#include "train/model/trained_model.h"

#include <numbers>
#include <utility>
#include <vector>

#include "base/require.h"
#include "train/model/evaluation.h"
#include "train/run/device_choice.h"
#include "train/run/run_data.h"
#include "train/run/training_run.h"
#include "train/step/host_masters.h"
#include "train/step/memory_use.h"

namespace twill {
namespace {

AnyModel with_config(AnyModel model, const RunConfig& config) {
  model.config = config;
  return model;
}

Builder::Options inference(const RunConfig& config, std::int64_t max_batch) {
  require(config.sequence() <= config.model.context,
          "train.sequence = {} is longer than the model's context of {}", config.sequence(),
          config.model.context);
  return {.dtype = DType::kF32,
          .training = false,
          .max_batch = max_batch > 0 ? max_batch : config.train.micro_batch,
          .max_time = config.sequence(),
          .decoding = max_batch == 1};
}

}  // namespace

TrainedModel::TrainedModel(AnyModel model, std::int64_t max_batch)
    : any_(std::move(model)),
      context_(open_context(config(), Use::kInference)),
      tokenizer_(open_model_tokenizer(any_)),
      builder_(context_, inference(config(), max_batch)),
      model_(make_model(builder_, source().config())) {
  require_memory(context_, builder_.memory_table());
  builder_.commit();
  HostMasters masters(builder_);
  source().load(builder_);
  masters.upload();
}

const Tokenizer& TrainedModel::tokenizer() const {
  require(
      tokenizer_ != nullptr,
      "{}: its data have no tokenizer (data.tokenizer = \"none\"), so it reads and writes token "
      "ids, not text",
      checkpoint());
  return *tokenizer_;
}

TrainedModel::TrainedModel(const RunFolder& folder, const RunConfig& config, std::int64_t max_batch)
    : TrainedModel(with_config(find_model(folder), config), max_batch) {}

std::unique_ptr<TrainedModel> open_trained_model(const std::string& where,
                                                 const std::string& runs_dir,
                                                 std::int64_t max_batch,
                                                 const std::vector<std::string>& overrides) {
  return std::make_unique<TrainedModel>(find_model(where, runs_dir, overrides), max_batch);
}

Evaluation evaluate(TrainedModel& model, const RunConfig& config) {
  const std::int64_t time = config.sequence(), batch = config.train.micro_batch;
  const ValidationData data =
      open_run_validation(config, model.find_tokenizer(), model.source().config().vocab);
  Evaluation result{
      .loss = mean_loss(model.context(), model.model(), *data.examples, {batch, time}),
      .tokens = data.tokens};
  if (!data.bytes) return result;
  result.bits_per_byte = result.loss * static_cast<double>(result.tokens) /
                         static_cast<double>(*data.bytes) / std::numbers::ln2;
  return result;
}

}  // namespace twill
