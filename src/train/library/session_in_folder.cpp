// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/require.h"
#include "train/library/own_examples.h"
#include "train/library/session_settings.h"
#include "train/library/session_work.h"
#include "train/run/training_run.h"

namespace twill {
namespace {

// Keeps what the run tells of a step.
class StepListener final : public TrainingListener {
 public:
  void on_step(const StepResult& result, const StepShares&) override { result_ = result; }
  void on_evaluation(std::int64_t, double loss) override { validation_loss_ = loss; }
  void on_health(const HealthSample& sample) override { health_ = report_of(sample); }
  void on_alarm(std::int64_t step, const std::string& what) override {
    log_warning(fmt::format("step {}: {}", step, what));
  }

  void forget() {
    validation_loss_.reset();
    health_.reset();
  }
  StepReport report(const RunConfig& config) const {
    StepReport report = report_of(result_, config);
    report.validation_loss = validation_loss_;
    report.health = health_;
    return report;
  }

 private:
  StepResult result_;
  std::optional<double> validation_loss_;
  std::optional<HealthReport> health_;
};

class FolderWork final : public SessionWork {
 public:
  FolderWork(const std::string& resumed, const SessionOptions& options)
      : run_(open_run(request_of(resumed, options), listener_, never_stops_)) {
    run_->prepare();
  }

  Trainer& trainer() override { return run_->trainer(); }
  const Tokenizer* tokenizer() const override { return run_->tokenizer(); }
  StepReport step() override {
    listener_.forget();
    run_->one_step();
    return listener_.report(run_->trainer().config());
  }
  std::string save() override { return run_->save_now(); }
  std::string save_to(const std::string& folder) override {
    fail(
        "the run lies in {} and is saved there: call save() without a folder, and copy the folder "
        "to {}",
        this->folder(), folder);
  }
  std::string folder() const override { return run_->folder().path(); }

 private:
  static TrainRequest request_of(const std::string& resumed, const SessionOptions& options) {
    TrainRequest request{.config_file = options.config_file,
                         .overrides = overrides_of(options, !resumed.empty()),
                         .resume = resumed,
                         .arguments = {"(a program)"}};
    if (!options.data) return request;
    request.own_data = [data = *options.data](const RunConfig& config) {
      require(has_own_examples(config),
              "the run learns from the data of its config, not from a program's: leave "
              "SessionOptions::data out");
      return own_examples(data, config);
    };
    return request;
  }

  StepListener listener_;
  const std::atomic<bool> never_stops_ = false;
  std::unique_ptr<OpenRun> run_;
};

}  // namespace

std::unique_ptr<SessionWork> open_in_folder(const std::string& resumed,
                                            const SessionOptions& options) {
  return std::make_unique<FolderWork>(resumed, options);
}

}  // namespace twill
