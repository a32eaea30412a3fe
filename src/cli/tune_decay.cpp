// SPDX-License-Identifier: Apache-2.0
// twill tune decay: the table of train/studies/tune_decay.h.
#include <cstdio>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/screen/interrupt.h"
#include "cli/screen/words.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "train/studies/tune_decay.h"

namespace twill::cli {
namespace {

std::string name_of(const DecayTrial& trial) {
  return trial.lambda ? fmt::format("{}", *trial.lambda) : "dense";
}

void print_head(const DecayTuning& tuning) {
  fmt::print("recipe {}, phase {}: {}\n", tuning.recipe, tuning.phase_index, tuning.phase);
  fmt::print(
      "{} steps per run; flip rate per step, sampled every {}, mean of the last quarter\n"
      "results in {}\n\n{:<10}{:>12}{:>8}{:>10}  verdict\n",
      tuning.steps, tuning.every, tuning.file, "lambda", "flip rate", "mu", "loss");
  std::fflush(stdout);
}

// One line per run, when it ends.
void print_trial(const DecayTuning& tuning, const DecayTrial& trial) {
  const bool is_dense = !trial.lambda;
  const std::string mu = is_dense || trial.diverged ? "" : fmt::format("{:.3f}", tuning.mu(trial));
  fmt::print("{:<10}{:>12.6f}{:>8}{:>10.4f}  {}{}\n", name_of(trial), trial.flip_rate, mu,
             trial.loss, is_dense ? "the yardstick" : tuning.verdict(trial),
             trial.kept ? " (done before)" : "");
  std::fflush(stdout);
}

void print_choice(const DecayTuning& tuning) {
  fmt::print("\nwindow of mu: {:.2f} to {:.2f}, best near {:.2f}\n", kLowestMu, kHighestMu,
             kBestMu);
  const DecayTrial* chosen = tuning.chosen();
  if (chosen == nullptr) {
    fmt::print("{}\n", tuning.advice());
  } else {
    fmt::print("chosen: recipe.phase.{}.decay.lambda={}\n", tuning.phase_index, name_of(*chosen));
  }
}

JsonObject json_of(const DecayTuning& tuning, const DecayTrial& trial) {
  JsonObject object{{"flip_rate", trial.flip_rate}, {"loss", trial.loss}};
  if (!trial.lambda) return object;
  object.insert(object.begin(), {"lambda", *trial.lambda});
  if (!trial.diverged) object.emplace_back("mu", tuning.mu(trial));
  object.emplace_back("verdict", tuning.verdict(trial));
  return object;
}

std::string json_of(const DecayTuning& tuning) {
  JsonArray trials;
  for (const DecayTrial& trial : tuning.trials) trials.emplace_back(json_of(tuning, trial));
  JsonObject object{{"recipe", tuning.recipe},
                    {"phase", tuning.phase_index},
                    {"steps", tuning.steps},
                    {"every", tuning.every},
                    {"window", JsonArray{kLowestMu, kHighestMu}},
                    {"dense", json_of(tuning, tuning.dense)},
                    {"trials", trials}};
  if (const DecayTrial* chosen = tuning.chosen()) object.emplace_back("chosen", *chosen->lambda);
  return to_json(object);
}

}  // namespace

int run_tune_decay(const TuneDecayCommand& command) {
  const Words words = split_words(command.words);
  Interrupt interrupt;
  interrupt.begin_saving();  // what is finished is kept
  const DecayTuning tuning =
      tune_decay({.config_file = words.config_file,
                  .overrides = words.overrides,
                  .steps = command.steps,
                  .lambdas = command.lambdas,
                  .folder = command.out},
                 interrupt.requested(), {.on_begin = print_head, .on_trial = print_trial});
  if (tuning.interrupted) {
    fmt::print("stopped; the same command goes on with the next run\n");
    return kInterrupted;
  }
  print_choice(tuning);
  if (!command.json.empty()) write_file(command.json, json_of(tuning));
  return kDone;
}

}  // namespace twill::cli
