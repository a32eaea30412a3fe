// SPDX-License-Identifier: Apache-2.0
// A plan as people and programs read it.
#pragma once

#include <string>
#include <vector>

#include "cli/planning/plan_summary.h"
#include "io/json/json_value.h"
#include "train/run/run_config.h"

namespace twill::cli {

// What `twill plan` knows besides the plan.
struct PlanReport {
  Plan plan = {};
  std::vector<std::string> phases = {};  // in words, by index
  std::vector<double> shares = {};       // of the run's steps, by index
  std::vector<bool> is_moving = {};  // the phase's density changes: costs are those of its sparsest
  std::int64_t accumulation = 1;
  double dense_step_seconds = 0.0;  // per micro-batch; 0: not measured
  std::int64_t steps = 0;           // of the run
  double restart_saves = 0.0;       // run.restart_saves
};

// Phases, and their shares of a run of this config.
PlanReport plan_report(const RunConfig& config, Plan plan);

std::string plan_table(const PlanReport& report);
JsonValue json_of(const PlanReport& report);

// A few lines for the head of a run: per phase what is packed, what is off, what it should gain.
// Each line stands behind nine columns, the first behind "plan".
std::string plan_lines(const Plan& plan);
// Which phases of a recipe are slower than dense here, by what factor, and the two ways out; empty: none.
std::string slower_text(const Plan& plan);

}  // namespace twill::cli
