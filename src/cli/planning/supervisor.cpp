// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/supervisor.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/cache_folder.h"
#include "base/log.h"
#include "cli/planning/own_program.h"
#include "cli/planning/plan_apart.h"
#include "ops/packing/packed_matrix.h"
#include "train/run/device_choice.h"

namespace twill::cli {

Supervisor::Supervisor() : Supervisor(launcher_name(), measure_plan_apart) {}

Supervisor::Supervisor(std::string launcher, MeasureApart measure_apart)
    : launcher_(std::move(launcher)), measure_apart_(std::move(measure_apart)) {}

MeasuredElsewhere Supervisor::measure_plan(const Context& context, const RunConfig& config) const {
  // The other process leaves its plan in the folder of what is kept.
  const bool helps = slowed_by_packed(context) > 0.0 &&
                     packs_matrices(context, storage_type(config, context)) &&
                     !cache_folder().empty();
  if (!helps) return MeasuredElsewhere::kNo;
  if (!launcher_.empty()) {
    log_info(fmt::format(
        "started by {}: the plan is measured in this process, which leaves the GPU at lower clocks "
        "until it ends; with `twill plan` before the launch nothing is left to measure",
        launcher_));
    return MeasuredElsewhere::kFailed;
  }
  return measure_apart_(config) ? MeasuredElsewhere::kKept : MeasuredElsewhere::kFailed;
}

double Supervisor::seconds_lost(const RunStanding& standing) const {
  if (!has_packed_ || standing.packs_from_here) return 0.0;
  return standing.plan.slowed_by_packed * static_cast<double>(standing.steps_left) * quickest_step_;
}

bool Supervisor::hands_over(const RunStanding& standing) {
  has_packed_ |= standing.last_step_packed;
  // The first of a process takes longer than others, and so does a search for masks.
  const double last = standing.last_step_seconds;
  if (last > 0.0) quickest_step_ = quickest_step_ > 0.0 ? std::min(quickest_step_, last) : last;
  saved_seconds_ = seconds_lost(standing);
  if (saved_seconds_ <= standing.config.run.restart_saves) return false;
  if (launcher_.empty()) return true;
  if (!std::exchange(has_told_, true))
    log_info(fmt::format(
        "started by {}: the run stays in this process, though packed products leave it at "
        "lower clocks, which costs {:.0f} s more",
        launcher_, saved_seconds_));
  return false;
}

void Supervisor::go_on(const std::string& run_folder) {
  // A relative path would be looked for among the runs first, where another run may have it.
  become_this_program({"train", "--resume", std::filesystem::absolute(run_folder).string()});
}

}  // namespace twill::cli
