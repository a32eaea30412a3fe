// SPDX-License-Identifier: Apache-2.0
// What processes have to do with a device's clocks. While a process lives that has launched a packed product,
// the driver of an H200 keeps the device at lower clocks for everybody. So a plan, which is timed by launching
// such products, is measured by another process; and dense steps behind the last packed phase go on in a new one.
//
// Planning knows how much that is (KernelTable::slowed_by_packed): what packing gains must be worth it, and
// every plan carries the share. When to use another process is decided here: training and planning ask the two
// questions below. Under a launcher (mpirun, srun, torchrun) the answer is never: it counts its processes.
#pragma once

#include <functional>
#include <string>

#include "cli/planning/launcher.h"
#include "train/run/make_plan.h"
#include "train/run/training_run.h"

namespace twill::cli {

class Supervisor {
 public:
  // Has another process measure the plan of a config and keep it; false, with a warning, where that fails.
  using MeasureApart = std::function<bool(const RunConfig&)>;

  Supervisor();
  // For tests. `launcher`: see launcher_name().
  Supervisor(std::string launcher, MeasureApart measure_apart);

  // PlanMaking::elsewhere. Under a launcher a line of the log says what that costs.
  MeasuredElsewhere measure_plan(const Context& context, const RunConfig& config) const;

  // TrainRequest::hands_over. Under a launcher never, and a line of the log says once what that costs.
  bool hands_over(const RunStanding& standing);

  // What the last standing would lose in this process.
  double saved_seconds() const { return saved_seconds_; }

  // Goes on with a run in a new process in the place of this one. Throws twill::Error where that cannot be
  // started; the run is saved.
  [[noreturn]] static void go_on(const std::string& run_folder);

 private:
  double seconds_lost(const RunStanding& standing) const;

  std::string launcher_;
  MeasureApart measure_apart_;
  bool has_packed_ = false;     // a step of this process
  double quickest_step_ = 0.0;  // seconds; 0: none yet
  double saved_seconds_ = 0.0;
  bool has_told_ = false;
};

}  // namespace twill::cli
