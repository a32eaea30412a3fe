// SPDX-License-Identifier: Apache-2.0
// A model wherever it lies: a run of ours, or a file or folder of another program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "exchange/model_source.h"
#include "train/run/run_config.h"
#include "train/run/run_folder.h"

namespace twill {

struct AnyModel {
  std::unique_ptr<ModelSource> source;
  // The run's, or the defaults; `config.model` is the source's. Overrides are laid over it, but may
  // not change the model.
  RunConfig config;
  // What open_tokenizer() takes: "byte" or a path; kNoTokenizer for data of ids alone; empty when
  // there is none beside the model.
  std::string tokenizer;
};

// `where` is a run (name, path, or path of a checkpoint), a Hugging Face folder, or a file. The
// checksum of a checkpoint is verified.
AnyModel find_model(const std::string& where, const std::string& runs_dir,
                    const std::vector<std::string>& overrides = {});

AnyModel find_model(const RunFolder& folder, const std::vector<std::string>& overrides = {});

// Throws where it is missing, or does not fit the model; nullptr for kNoTokenizer.
std::unique_ptr<Tokenizer> open_model_tokenizer(const AnyModel& model);

// A new run that starts from another model: the model keys of `config` become the source's, except
// dropout and the initial weights; keys that the user set must agree. data.tokenizer, if left at
// "auto" over plain texts, becomes the source's.
RunConfig started_from(const AnyModel& model, RunConfig config);

}  // namespace twill
