// SPDX-License-Identifier: Apache-2.0
// Where the plan of a run comes from: the file that the config names, what an earlier run of the same
// kind has measured on this machine with this build, or a measurement.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "models/model.h"
#include "nn/seam.h"
#include "ops/context.h"
#include "sparsity/plan/measure_plan.h"
#include "train/run/run_config.h"

namespace twill {

struct PlanMaking {
  MakeModel make_model = twill::make_model;
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};  // see PlanRequest
  bool fresh = false;     // measured again, whatever an earlier run has kept
  bool is_alone = false;  // see PlanRequest
  // Has another process measure the plan of a config and keep it, on devices where packed products slow the
  // process that runs them (KernelTable::slowed_by_packed): who reads its plan and packs nothing is not slowed.
  // False: it has kept none, and the plan is measured here, for this run alone. Empty: always here.
  std::function<bool(const RunConfig&)> measure_apart = {};
};

// `layers` are those of the model, before any memory is taken.
Plan make_plan(const Context& context, const RunConfig& config,
               const std::deque<LinearSeam>& layers, const PlanMaking& making = {});

// The same for a config alone: builds the model's layers, without their memory.
Plan make_plan(const Context& context, const RunConfig& config, const PlanMaking& making = {});

// plan.toml
Plan read_plan(const std::string& path);
void write_plan(const std::string& path, const Plan& plan);

// Throws when `plan` is not of this recipe and model, or cannot run here.
void require_plan_fits(const Context& context, const Plan& plan, const RunConfig& config,
                       const std::deque<LinearSeam>& layers, const std::string& path);

}  // namespace twill
