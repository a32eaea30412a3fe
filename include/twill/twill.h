// SPDX-License-Identifier: Apache-2.0
// Twill as a library: train a model from settings, sample from it, save it. Settings are the keys
// of `twill config --help`, each as "key=value".
//
//   twill::Session session({"model=tiny", "train.steps=100"});
//   while (!session.done()) session.step();
//   std::cout << session.sample("Once", 100);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "twill/error.h"
#include "twill/version.h"

namespace twill {

struct StepReport {
  std::int64_t step = 0;  // counts from 1
  double loss = 0.0;
  double learning_rate = 0.0;
  double gradient_norm = 0.0;
  bool finite = true;  // false: loss or gradient was not finite and no update was applied
};

// A model in training, in memory. Not for use by several threads at once. A program with signal
// handlers of its own: see docs/decisions/002-signals.md.
class Session {
 public:
  // Throws twill::Error when a setting is wrong; the message says what to do. A sparse recipe is timed
  // first and the result kept in ~/.cache/twill (docs/plan.md); recipe.execution=packed or masked
  // measures nothing, and makes results independent of it.
  explicit Session(const std::vector<std::string>& settings);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  StepReport step();
  bool done() const;  // all of train.steps are taken

  // Mean loss over the validation text, in nats per token.
  double validation_loss();

  // Continues `prompt` by `tokens` tokens. Temperature 0 takes the likeliest token.
  std::string sample(std::string_view prompt, std::int64_t tokens, double temperature = 0.8,
                     std::uint64_t seed = 1);

  // Writes a checkpoint (model.safetensors, state.safetensors, and of a sparse recipe
  // sparsity.safetensors) into `folder` and returns its path.
  std::string save(const std::string& folder);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace twill
