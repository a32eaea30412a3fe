// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/planning/first_run.h"
#include "cli/planning/supervisor.h"
#include "cli/screen/interrupt.h"
#include "cli/screen/progress.h"
#include "cli/screen/terminal.h"
#include "cli/screen/words.h"
#include "train/run/training_run.h"

namespace twill::cli {
namespace {

struct Trained {
  Outcome outcome;
  std::string folder;
};

// Ctrl-C saves for as long as there is something to save.
class InterruptibleView final : public ProgressView {
 public:
  explicit InterruptibleView(Interrupt& interrupt)
      : ProgressView(on_moving_terminal()), interrupt_(interrupt) {}
  void on_begin(const RunConfig& config, const RunFacts& facts) override {
    interrupt_.begin_saving();
    ProgressView::on_begin(config, facts);
  }

 private:
  Interrupt& interrupt_;
};

Trained train_and_show(TrainRequest request) {
  Interrupt interrupt;
  InterruptibleView view(interrupt);
  Supervisor supervisor;
  request.plan_elsewhere = [&](const Context& context, const RunConfig& config) {
    return supervisor.measure_plan(context, config);
  };
  request.hands_over = [&](const RunStanding& standing) { return supervisor.hands_over(standing); };
  const Outcome outcome = run_training(request, view, interrupt.requested());
  if (outcome == Outcome::kHandedOver) view.show_new_process(supervisor.saved_seconds());
  // The process that takes over would not know of a signal; the run is saved.
  const bool stops = outcome == Outcome::kHandedOver && interrupt.requested();
  if (stops) view.on_end(/*interrupted=*/true);
  return {stops ? Outcome::kInterrupted : outcome, view.folder()};
}

std::vector<std::string> arguments_of(const TrainCommand& command) {
  std::vector<std::string> arguments{"train"};
  arguments.insert(arguments.end(), command.words.begin(), command.words.end());
  if (!command.resume.empty()) arguments.insert(arguments.end(), {"--resume", command.resume});
  return arguments;
}

}  // namespace

int run_train(const TrainCommand& command) {
  const Words words = split_words(command.words);
  const Trained trained = train_and_show({.config_file = words.config_file,
                                          .overrides = words.overrides,
                                          .resume = command.resume,
                                          .arguments = arguments_of(command)});
  if (trained.outcome == Outcome::kHandedOver) Supervisor::go_on(trained.folder);
  if (trained.outcome == Outcome::kInterrupted) return kInterrupted;
  if (command.words.empty() && command.resume.empty()) show_first_gain();
  return kDone;
}

}  // namespace twill::cli
