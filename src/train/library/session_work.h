// SPDX-License-Identifier: Apache-2.0
// What a session does its steps with: a trainer in memory, or a run in a folder.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer.h"
#include "train/step/trainer.h"
#include "twill/session.h"

namespace twill {

class SessionWork {
 public:
  virtual ~SessionWork() = default;

  virtual Trainer& trainer() = 0;
  virtual const Tokenizer* tokenizer() const = 0;
  // There is a step left.
  virtual StepReport step() = 0;
  // Masks and projected weights of a recipe that begins sparse, in front of the first look at the model.
  virtual void look() {}
  // Whether weights may be set under a sparse recipe.
  virtual bool is_untouched() const { return false; }
  virtual std::string save() = 0;
  virtual std::string save_to(const std::string& folder) = 0;
  virtual std::string folder() const = 0;
};

std::unique_ptr<SessionWork> open_in_memory(const SessionOptions& options);
// `resumed` empty: a new run.
std::unique_ptr<SessionWork> open_in_folder(const std::string& resumed,
                                            const SessionOptions& options);

StepReport report_of(const StepResult& result, const RunConfig& config);
HealthReport report_of(const HealthSample& sample);

}  // namespace twill
