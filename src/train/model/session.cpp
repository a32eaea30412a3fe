// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "base/require.h"
#include "data/token_ids.h"
#include "train/model/sampler.h"
#include "train/run/checkpoint.h"
#include "train/run/device_choice.h"
#include "train/run/run_data.h"
#include "train/run/training_run.h"
#include "train/step/trainer.h"
#include "twill/twill.h"

namespace twill {

struct Session::State {
  explicit State(const std::vector<std::string>& settings)
      : setup(set_up(read_run_config("", settings))),
        data(open_run_data(setup.config, setup.tokenizer.get())),
        context(open_context(setup.config)),
        trainer(context, setup.config, data) {
    trainer.begin();
  }

  RunSetup setup;
  TrainingData data;
  Context context;
  Trainer trainer;
};

Session::Session(const std::vector<std::string>& settings)
    : state_(std::make_unique<State>(settings)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

StepReport Session::step() {
  const StepResult result = state_->trainer.step();
  return {.step = result.step,
          .loss = result.loss,
          .learning_rate = result.lr,
          .gradient_norm = result.grad_norm,
          .finite = result.finite};
}

bool Session::done() const {
  return state_->trainer.progress().step >= state_->setup.config.train.steps;
}

double Session::validation_loss() { return state_->trainer.evaluate(); }

std::string Session::sample(std::string_view prompt, std::int64_t tokens, double temperature,
                            std::uint64_t seed) {
  require(state_->setup.tokenizer != nullptr,
          "a sample needs a tokenizer, and data.tokenizer = \"{}\" brings none", kNoTokenizer);
  std::string text(prompt);
  LanguageModel& model = as_language_model(state_->trainer.model(), "a sample");
  twill::sample(state_->context, model, *state_->setup.tokenizer, prompt,
                {.tokens = tokens, .temperature = temperature, .seed = seed},
                [&](std::string_view piece) {
                  text += piece;
                  return true;
                });
  return text;
}

std::string Session::save(const std::string& folder) {
  return save_checkpoint(folder, state_->trainer, std::numeric_limits<std::int64_t>::max());
}

}  // namespace twill
