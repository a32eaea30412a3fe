// SPDX-License-Identifier: Apache-2.0
// Everything a run is told, each key declared once (base/fields.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "data/corpus.h"
#include "models/model_config.h"
#include "sparsity/recipe/recipe.h"

namespace twill {

struct RunSection {
  std::string name;
  std::string dir = "runs";
  std::string id;
  double restart_saves = 60.0;
  void fields(FieldVisitor& visit);
};

struct TrainConfig {
  std::int64_t steps = 1600;
  std::int64_t seed = 1;
  std::int64_t sequence = 0;
  std::int64_t micro_batch = 8;
  std::int64_t batch_tokens = 0;
  std::string precision = "auto";
  std::string recompute = "none";
  std::string on_nonfinite = "stop";
  std::string start_from;
  void fields(FieldVisitor& visit);
};

// Rules for parameters whose names match a glob; later rules win. A negative value says nothing.
struct OptimizerGroup {
  std::string match = "*";
  double lr_scale = -1.0;
  double weight_decay = -1.0;
  void fields(FieldVisitor& visit);
};

struct OptimizerConfig {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double clip = 1.0;
  std::string moments = "f32";
  std::vector<OptimizerGroup> group;
  void fields(FieldVisitor& visit);
};

struct ScheduleConfig {
  std::string kind = "cosine";
  std::int64_t warmup_steps = 50;
  double min_lr = 0.1;
  double decay_fraction = 0.2;
  void fields(FieldVisitor& visit);
};

struct EvalConfig {
  std::int64_t every = 200;
  std::int64_t windows = 64;
  void fields(FieldVisitor& visit);
};

struct CheckpointConfig {
  std::int64_t every = 200;
  std::int64_t keep = 2;
  void fields(FieldVisitor& visit);
};

struct LogConfig {
  std::int64_t every = 50;
  std::int64_t sample_tokens = 400;
  void fields(FieldVisitor& visit);
};

// Alarms of the run itself; those of a recipe's masks are recipe.on_alarm's.
struct HealthSection {
  std::int64_t stall_window = 0;
  std::string on_stall = "warn";
  void fields(FieldVisitor& visit);
};

struct RunConfig {
  RunSection run;
  std::string device = "auto";
  std::int64_t threads = 0;
  std::string plan;
  ModelConfig model;
  RecipeConfig recipe;
  DataConfig data;
  TrainConfig train;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  EvalConfig eval;
  CheckpointConfig checkpoint;
  LogConfig log;
  HealthSection health;
  void fields(FieldVisitor& visit);

  std::int64_t sequence() const {
    return train.sequence > 0 ? train.sequence : longest_sequence(model);
  }
  std::int64_t micro_batch_tokens() const { return train.micro_batch * sequence(); }
  // Micro-batches of one optimizer step.
  std::int64_t accumulation() const;
  RunLength length() const { return {train.steps, accumulation() * micro_batch_tokens()}; }
};

// What stands where nobody names a recipe: dense, or what the model's preset trains by, in execution "fastest".
enum class NoRecipe { kDense, kPreset };

// Presets first, then the file (may be empty), then each key=value. Nothing is derived yet.
RunConfig read_run_config(const std::string& file, const std::vector<std::string>& overrides,
                          NoRecipe nobody = NoRecipe::kDense);

// The same over the config of a run that exists, which a file and pairs are compared with.
RunConfig read_run_config_over(RunConfig saved, const std::string& file,
                               const std::vector<std::string>& overrides);

// A recipe of `twill recipes`, or a TOML file.
RecipeConfig read_recipe(const std::string& name);

// run.dir alone: where to look for a run before its own config is known.
std::string runs_dir(const std::string& file, const std::vector<std::string>& overrides);

// Of a new run: what the pairs say, else one that no other run has. A file's is another run's.
std::string run_id(const std::vector<std::string>& overrides);

// What no single range can check, and the zeros that mean "derive it".
RunConfig resolved(RunConfig config, std::int64_t tokenizer_vocab);

}  // namespace twill
