// SPDX-License-Identifier: Apache-2.0
// What a person sees of a training run: on a terminal one line that moves, elsewhere plain lines.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "cli/screen/moving_line.h"
#include "train/run/training_run.h"

namespace twill::cli {

class ProgressView : public TrainingListener {
 public:
  explicit ProgressView(bool terminal) : terminal_(terminal), planning_(terminal) {}
  // An error message that follows starts on a line of its own.
  ~ProgressView() override;
  ProgressView(const ProgressView&) = delete;
  ProgressView& operator=(const ProgressView&) = delete;

  void on_planning(std::int64_t done, std::int64_t all) override;
  void on_begin(const RunConfig& config, const RunFacts& facts) override;
  void on_plan(const Plan& plan) override;
  void on_step(const StepResult& result, const StepShares& shares) override;
  void on_evaluation(std::int64_t step, double validation_loss) override;
  void on_sparse_evaluation(double master, double as_trained) override;
  void on_health(const HealthSample& sample) override;
  void on_alarm(std::int64_t step, const std::string& what) override;
  void on_phase(std::int64_t step, const std::string& what) override;
  void on_flops(const Flops& flops) override;
  void on_checkpoint(const std::string& path) override;
  void on_sample_begin() override;
  void on_sample(std::string_view text) override;
  void on_end(bool interrupted) override;

  // The run goes on in a new process; staying here would cost so much more.
  void show_new_process(double saved_seconds);

  const std::string& folder() const { return folder_; }

 private:
  // What there is to say of a step, the most important first.
  std::vector<std::string> step_fields(const StepResult& result, const StepShares& shares) const;
  double seconds_left(std::int64_t step) const;
  // Puts a lasting line above the moving one.
  void print_line(const std::string& line);

  bool terminal_;
  MovingLine planning_;
  bool moving_ = false;
  bool packs_ = false;  // the plan has packed products
  std::string folder_;
  std::string recipe_;  // what is trained
  std::string checkpoint_;
  std::string resumed_;
  std::string example_prompt_;  // an option for `twill sample`, where we know what fits
  std::int64_t steps_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t last_step_ = 0;
  std::int64_t step_tokens_ = 0;
  std::int64_t log_every_ = 1;
  double step_seconds_ = 0.0;  // smoothed
  std::vector<std::string> alarms_;
  std::string health_;  // flip rate and density, as last sampled
  double first_validation_ = 0.0;
  double last_validation_ = 0.0;
  bool validated_ = false;
  bool began_elsewhere_ = false;  // the first validation loss is of an earlier process
  std::chrono::steady_clock::time_point started_;
};

}  // namespace twill::cli
