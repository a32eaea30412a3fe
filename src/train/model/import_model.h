// SPDX-License-Identifier: Apache-2.0
// A model from elsewhere becomes a run, so that sample, eval, export and train.start_from find it.
#pragma once

#include <cstdint>
#include <string>

#include "models/model_config.h"

namespace twill {

struct ImportRequest {
  std::string source;
  std::string name;       // of the run; empty takes the next free one
  std::string tokenizer;  // empty takes the one beside the source
  std::string runs_dir = "runs";
};

struct ImportReport {
  std::string folder;
  std::string format;
  std::string dtype;
  std::string tokenizer;  // its name
  std::int64_t tokenizer_vocab = 0;
  ModelConfig model;
};

// The run's folder holds config.toml, the weights as checkpoint 0, and the tokenizer's files.
// Nothing is written before all is found good.
ImportReport import_model(const ImportRequest& request);

}  // namespace twill
