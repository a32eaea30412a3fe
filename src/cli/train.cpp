// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "train/training_run.h"

namespace twill::cli {
int run_train(const TrainCommand& command) {
  const Words words = split_words(command.words);
  const Interrupt interrupt;
  ProgressView view(on_moving_terminal());
  const Outcome outcome = run_training(
      {.config_file = words.config_file, .overrides = words.overrides, .resume = command.resume},
      view, interrupt.requested());
  return outcome == Outcome::kDone ? kDone : kInterrupted;
}

}  // namespace twill::cli
