// SPDX-License-Identifier: Apache-2.0
// A run small enough for a test: two blocks of width 16 on the built-in corpus.
#pragma once

#include <string>
#include <vector>

#include "train/run/device_choice.h"
#include "train/run/run_data.h"
#include "train/run/training_run.h"
#include "train/step/trainer.h"

namespace twill {

inline std::vector<std::string> tiny_settings(const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings{"recipe=dense",
                                    "model.layers=2",
                                    "model.width=16",
                                    "model.heads=2",
                                    "model.context=16",
                                    "train.steps=12",
                                    "eval.windows=4",
                                    "train.micro_batch=4",
                                    "eval.every=4",
                                    "device=cpu",
                                    "threads=1",
                                    "log.sample_tokens=0",
                                    "checkpoint.every=5",
                                    "schedule.warmup_steps=4",
                                    "recipe.execution=masked"};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

inline RunConfig tiny_config(const std::vector<std::string>& more = {}) {
  return resolved(read_run_config("", tiny_settings(more)), 256);
}

// A trainer with its context and data.
struct TinyTrainer {
  explicit TinyTrainer(const std::vector<std::string>& more = {})
      : config(tiny_config(more)),
        data(open_run_data(config)),
        context(open_context(config)),
        trainer(context, config, data) {
    trainer.begin();
  }

  // All weights, one behind the other.
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Parameter& parameter : trainer.builder().parameters()) {
      const float* values = parameter.value.as<float>();
      all.insert(all.end(), values, values + parameter.value.num_elements());
    }
    return all;
  }
  std::vector<double> losses(int steps) {
    std::vector<double> all;
    for (int step = 0; step < steps; ++step) all.push_back(trainer.step().loss);
    return all;
  }

  RunConfig config;
  TrainingData data;
  Context context;
  Trainer trainer;
};

}  // namespace twill
