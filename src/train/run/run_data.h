// SPDX-License-Identifier: Apache-2.0
// From a config as it was read to a run's data, in two steps: the tokenizer comes first, because its
// vocabulary is part of the model's shape. Which kinds of data there are is known to data/open_data.h
// alone.
#pragma once

#include <memory>

#include "data/open_data.h"
#include "data/tokenizer.h"
#include "train/run/run_config.h"
#include "train/run/run_folder.h"

namespace twill {

struct RunSetup {
  RunConfig config;                      // resolved; data.tokenizer names what "auto" stands for
  std::unique_ptr<Tokenizer> tokenizer;  // of the data; nullptr where they have none
};
RunSetup set_up(RunConfig config);
// With the run's own copy of its tokenizer.
RunSetup set_up(const RunFolder& folder, RunConfig config);

// The data of a resolved config, read now.
TrainingData open_run_data(const RunConfig& config, const Tokenizer* tokenizer);
// The same with the tokenizer that the config names.
TrainingData open_run_data(const RunConfig& config);
// Its validation part alone, for a model with this vocabulary.
ValidationData open_run_validation(const RunConfig& config, const Tokenizer* tokenizer,
                                   std::int64_t model_vocab);

}  // namespace twill
