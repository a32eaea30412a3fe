// SPDX-License-Identifier: Apache-2.0
// A whole run: from a config or a folder to a folder with checkpoints. Shows nothing itself: it
// tells its listener.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "nn/builder.h"
#include "train/metrics/metric_sink.h"
#include "train/run/make_plan.h"
#include "train/run/run_config.h"
#include "train/run/run_folder.h"
#include "train/step/step_meter.h"
#include "train/step/trainer.h"

namespace twill {

// Where a run stands between two steps.
struct RunStanding {
  const RunConfig& config;
  const Plan& plan;
  std::int64_t steps_left = 0;
  double last_step_seconds = 0.0;  // 0: this process has made none
  bool last_step_packed = false;   // it had packed products
  bool packs_from_here = false;    // a step to come will have some
};

struct TrainRequest {
  std::string config_file;             // may be empty
  std::vector<std::string> overrides;  // key=value
  std::string resume;                  // a run or one of its checkpoints; empty starts a new run
  // See PlanMaking.
  std::function<MeasuredElsewhere(const Context&, const RunConfig&)> plan_elsewhere = {};
  // Asked before every step: whether somebody else shall go on with the run. Empty: never.
  std::function<bool(const RunStanding&)> hands_over = {};
  std::vector<std::string> arguments = {};  // of the command, for facts.json
  // Examples that a program gives in place of those of the config, whose data.* then say nothing. Empty: the
  // config's.
  std::function<TrainingData(const RunConfig&)> own_data = {};
  // Where metrics go besides metrics.jsonl. One that fails is left out from then on, with a warning.
  std::vector<std::shared_ptr<MetricSink>> sinks = {};
};

// One source of a mix: how much of the run it serves, and how often it is seen in all.
struct SourceFacts {
  std::string name;
  std::int64_t tokens = 0;
  double share = 1.0;
  double epochs = 0.0;
};

// What is known before the first step.
struct RunFacts {
  std::string folder;
  std::string resumed_from;  // empty for a new run
  std::string backend;
  int num_threads = 1;
  std::int64_t num_parameters = 0;
  std::int64_t train_tokens = 0;
  std::int64_t validation_tokens = 0;
  std::vector<SourceFacts> sources;
  std::string validated_by;                     // Corpus::validated_by
  std::vector<std::string> data_notes;          // Corpus::notes
  std::optional<double> first_validation_loss;  // of a resumed run: its own, from its first process
  std::vector<MemoryLine> memory;
  std::vector<MemoryLine> dense_memory;  // of a sparse recipe: the same run trained dense
  std::string runs;  // of a sparse recipe: runs_text() of sparsity/plan/what_runs.h
};

class TrainingListener {
 public:
  virtual ~TrainingListener() = default;
  // Before on_begin(): while the plan of a sparse recipe is measured.
  virtual void on_planning(std::int64_t /*done*/, std::int64_t /*all*/) {}
  virtual void on_begin(const RunConfig&, const RunFacts&) {}
  // How the layers of a sparse recipe run.
  virtual void on_plan(const Plan&) {}
  virtual void on_step(const StepResult&, const StepShares&) {}
  virtual void on_evaluation(std::int64_t /*step*/, double /*validation_loss*/) {}
  // Of a sparse phase: the plain master weights, and everything as in training.
  virtual void on_sparse_evaluation(double /*master*/, double /*as_trained*/) {}
  virtual void on_health(const HealthSample&) {}
  // Something that a person should know of while the run goes on; it is in the metrics.
  virtual void on_alarm(std::int64_t /*step*/, const std::string& /*what*/) {}
  virtual void on_phase(std::int64_t /*step*/, const std::string& /*what*/) {}
  // At the end: the run's FLOPs by the formulas of sparsity/account/flop_account.h.
  virtual void on_flops(const Flops&) {}
  virtual void on_checkpoint(const std::string& /*path*/) {}
  virtual void on_sample_begin() {}
  virtual void on_sample(std::string_view /*text*/) {}
  virtual void on_end(bool /*interrupted*/) {}
};

// kHandedOver: the run is saved, and TrainRequest::hands_over wants somebody else to resume it.
enum class Outcome { kDone, kInterrupted, kHandedOver };

// A run that is open, for those who go step by step.
class OpenRun {
 public:
  virtual ~OpenRun() = default;

  // Once, in front of the first step: makes or reads the run's folder, sets the weights and evaluates a
  // new run.
  virtual void prepare() = 0;
  // A step, and the evaluation and the checkpoint that are due behind it. False when a stop was asked
  // for: the state is then the one before the step.
  virtual bool one_step() = 0;
  // Saves where that has not been done yet; returns the checkpoint.
  virtual std::string save_now() = 0;

  virtual Trainer& trainer() = 0;
  virtual const Tokenizer* tokenizer() const = 0;
  virtual const RunFolder& folder() const = 0;
};

// The listener and `stop` are borrowed.
std::unique_ptr<OpenRun> open_run(const TrainRequest& request, TrainingListener& listener,
                                  const std::atomic<bool>& stop);

// Trains until the config's last step, or until `stop` is set: then it saves and returns. Throws
// twill::Error when the user can do something about it; what was saved stays usable.
Outcome run_training(const TrainRequest& request, TrainingListener& listener,
                     const std::atomic<bool>& stop);

}  // namespace twill
