// SPDX-License-Identifier: Apache-2.0
// Where the plan of a run comes from: the file that the config names, what an earlier run of the same
// kind has measured on this machine with this build, or a measurement.
#pragma once

#include <deque>
#include <string>

#include "nn/seam.h"
#include "ops/context.h"
#include "sparsity/measure_plan.h"
#include "train/run_config.h"

namespace twill {

// `layers` are those of the model, before any memory is taken. `progress`: see PlanRequest.
Plan make_plan(const Context& context, const RunConfig& config,
               const std::deque<LinearSeam>& layers,
               const std::function<void(std::int64_t, std::int64_t)>& progress = {},
               bool fresh = false);

// The same for a config alone: builds the model's layers, without their memory.
// `fresh`: measured again, whatever an earlier run has kept.
Plan make_plan(const Context& context, const RunConfig& config,
               const std::function<void(std::int64_t, std::int64_t)>& progress = {},
               bool fresh = false);

// plan.toml
Plan read_plan(const std::string& path);
void write_plan(const std::string& path, const Plan& plan);

// Throws when `plan` is not of this recipe and model, or cannot run here.
void require_plan_fits(const Context& context, const Plan& plan, const RunConfig& config,
                       const std::deque<LinearSeam>& layers, const std::string& path);

}  // namespace twill
