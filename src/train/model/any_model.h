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
#include "train/step/trainer.h"

namespace twill {

struct AnyModel {
  std::unique_ptr<ModelSource> source;
  bool is_run = false;  // `config` is that of a run
  // The run's, or the defaults; `config.model` is the source's. Overrides are laid over it, but may
  // not change the model.
  RunConfig config;
  // What open_tokenizer() takes: "byte" or a path; kNoTokenizer for data of ids alone; empty when
  // there is none beside the model.
  std::string tokenizer;
};

// A checkpoint of ours or its model file, also where no run is around it, else open_model_source(). The
// checksum of a checkpoint is verified.
std::unique_ptr<ModelSource> open_any_source(const std::string& path);

// `where` is a run (name, path, or path of a checkpoint or of its model.safetensors), or what
// open_any_source() takes.
AnyModel find_model(const std::string& where, const std::string& runs_dir,
                    const std::vector<std::string>& overrides = {});

AnyModel find_model(const RunFolder& folder, const std::vector<std::string>& overrides = {});

// Throws where it is missing, or does not fit the model; nullptr for kNoTokenizer.
std::unique_ptr<Tokenizer> open_model_tokenizer(const AnyModel& model);

// A new run that starts from another model: the model keys of `config` become the source's, except
// dropout and the initial weights; keys that the user set must agree. data.tokenizer, if left at
// "auto" over plain texts, becomes the source's.
RunConfig started_from(const AnyModel& model, RunConfig config);

// Its weights become those of a trainer behind begin().
void load_start(const AnyModel& model, Trainer& trainer);

}  // namespace twill
