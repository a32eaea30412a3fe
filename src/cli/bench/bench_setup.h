// SPDX-License-Identifier: Apache-2.0
// What commands that measure have in common: a config without a run.
#pragma once

#include <string>
#include <vector>

#include "ops/context.h"
#include "sparsity/plan/plan.h"
#include "train/run/run_config.h"

namespace twill::cli {

// [CONFIG.toml] [key=value …], resolved by the vocabulary of the data's tokenizer; the data are not
// read. With `own_model` false a config that names no model gets "small", the one our own bar is set
// for.
RunConfig measured_config(const std::vector<std::string>& words, bool own_model,
                          NoRecipe nobody = NoRecipe::kDense);

// The plan of the run, with a moving line while it is measured, in a process of its own where that makes a
// difference (cli/planning/supervisor.h). `fresh`: whatever was measured before.
Plan planned(const Context& context, const RunConfig& config, bool fresh = false);
// The same in this process, which has done nothing else before.
Plan planned_here(const Context& context, const RunConfig& config, bool fresh);

// "small: 25.3 M parameters, 8 x 256 tokens, 2 threads, cpu"
std::string describe_run(const RunConfig& config, const Context& context);

}  // namespace twill::cli
