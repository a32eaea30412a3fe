// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/first_run.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "train/training_run.h"

namespace twill::cli {
namespace {

// Ctrl-C saves for as long as there is something to save.
Outcome train_and_show(const TrainRequest& request) {
  const Interrupt interrupt;
  ProgressView view(on_moving_terminal());
  return run_training(request, view, interrupt.requested());
}

}  // namespace

int run_train(const TrainCommand& command) {
  Words words = split_words(command.words);
  // Without a word: a recipe that gains here, and what it gained.
  const bool is_first = command.words.empty() && command.resume.empty();
  if (is_first) words.overrides = first_run_overrides();
  const TrainRequest request{
      .config_file = words.config_file, .overrides = words.overrides, .resume = command.resume};
  if (train_and_show(request) != Outcome::kDone) return kInterrupted;
  if (!words.overrides.empty() && is_first) show_gain(words.overrides);
  return kDone;
}

}  // namespace twill::cli
