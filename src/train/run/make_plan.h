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
#include "sparsity/plan/explain_plan.h"
#include "sparsity/plan/measure_plan.h"
#include "train/run/run_config.h"

namespace twill {

// kNo: nobody else measures it. kKept: it lies where plans are kept. kFailed: nobody could, and what is measured
// here is for this run alone.
enum class MeasuredElsewhere { kNo, kKept, kFailed };

struct PlanMaking {
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};  // see PlanRequest
  bool fresh = false;     // measured again, whatever an earlier run has kept
  bool is_alone = false;  // see PlanRequest
  // Asked before a plan is measured here. Empty: kNo.
  std::function<MeasuredElsewhere(const Context&, const RunConfig&)> elsewhere = {};
};

// `layers` are those of the model, before any memory is taken.
Plan make_plan(const Context& context, const RunConfig& config,
               const std::deque<LinearSeam>& layers, const PlanMaking& making = {});

// The same for a config alone: builds the model's layers, without their memory.
Plan make_plan(const Context& context, const RunConfig& config, const PlanMaking& making = {});

// What its products run on: sparsity/plan/explain_plan.h.
std::vector<ExplainedSite> explain_plan(Context& context, const RunConfig& config,
                                        const Plan& plan);

// plan.toml
Plan read_plan(const std::string& path);
void write_plan(const std::string& path, const Plan& plan);
std::string plan_text(Plan plan);  // of such a file

// Throws when `plan` is not of this recipe and model, or cannot run here.
void require_plan_fits(const Context& context, const Plan& plan, const RunConfig& config,
                       const std::deque<LinearSeam>& layers, const std::string& path);

}  // namespace twill
