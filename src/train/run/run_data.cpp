// SPDX-License-Identifier: Apache-2.0
#include "train/run/run_data.h"

#include <utility>

#include "models/families.h"

namespace twill {
namespace {

DataRequest request_of(const RunConfig& config) {
  return {.kind = find_family(config.model.family).data,
          .batch = {config.train.micro_batch, config.sequence()},
          .seed = static_cast<std::uint64_t>(config.train.seed),
          .validation_windows = config.eval.windows,
          .model_vocab = config.model.vocab,
          .threads = static_cast<int>(config.threads)};
}

RunSetup resolved_for(RunConfig config, std::unique_ptr<Tokenizer> tokenizer) {
  config = resolved(std::move(config), vocab_size_of(tokenizer.get()));
  return {.config = std::move(config), .tokenizer = std::move(tokenizer)};
}

}  // namespace

RunSetup set_up(RunConfig config) {
  config.data.tokenizer = data_tokenizer(config.data);
  std::unique_ptr<Tokenizer> tokenizer = open_tokenizer_if_any(config.data.tokenizer);
  return resolved_for(std::move(config), std::move(tokenizer));
}

RunSetup set_up(const RunFolder& folder, RunConfig config) {
  config.data.tokenizer = data_tokenizer(config.data);
  std::unique_ptr<Tokenizer> tokenizer = open_run_tokenizer(folder, config);
  return resolved_for(std::move(config), std::move(tokenizer));
}

TrainingData open_run_data(const RunConfig& config, const Tokenizer* tokenizer) {
  return open_data(config.data, tokenizer, request_of(config));
}

TrainingData open_run_data(const RunConfig& config) {
  return open_run_data(config, open_tokenizer_if_any(data_tokenizer(config.data)).get());
}

ValidationData open_run_validation(const RunConfig& config, const Tokenizer* tokenizer,
                                   std::int64_t model_vocab) {
  DataRequest request = request_of(config);
  request.model_vocab = model_vocab;
  return open_validation(config.data, tokenizer, request);
}

}  // namespace twill
