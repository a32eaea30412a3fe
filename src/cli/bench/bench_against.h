// SPDX-License-Identifier: Apache-2.0
// twill bench step --against-dense: steps of a recipe in turns with dense steps, in one process, and if asked
// for each of them alone as well. The driver keeps an H200 at lower clocks, some 4 %, while a process lives that
// has launched a 2:4 kernel: dense steps in turns pay for their neighbour, those of a run that never sees one do
// not. So dense steps alone come first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/bench/phase_alone.h"
#include "cli/bench/ratio_report.h"
#include "data/open_data.h"
#include "ops/context.h"
#include "train/run/run_config.h"

namespace twill::cli {

struct AgainstDense {
  std::string recipe;
  std::string phase;             // in words
  std::string layers = {};       // "41 of 48 matrices packed"
  std::int64_t block_steps = 1;  // of a turn
  std::int64_t tokens = 0;       // of a step
  double dense_seconds = 0.0;    // medians of a step
  double recipe_seconds = 0.0;
  PairedRatio gain = {};  // dense over recipe, of ordinary steps
  // Medians of a step with nobody else at work, dense before any sparse product; 0: not asked for.
  double dense_alone_seconds = 0.0;
  double recipe_alone_seconds = 0.0;
  // Work that only some steps do, and what it adds when it is spread over the others.
  RareWork rare;
  double rare_seconds = 0.0;  // more than an ordinary step takes

  // A step of the recipe, rare work included.
  double mean_recipe_seconds() const;
  // The gain with it, in turns and alone.
  double whole_gain() const;
  double gain_alone() const;
};

struct AgainstRequest {
  std::int64_t rounds = 0;  // 0: 30 pairs where the host computes, 7 on a device
  std::int64_t most_block_steps = 10;
  // Of each trainer alone, behind two thirds of it in which clocks settle; 0: not asked for. It says something
  // where no sparse product has run in this process.
  double alone_seconds = 0.0;
};

// `config` holds one phase (phase_alone.h), `make_plan` its plan, which may have to be measured.
AgainstDense measure_against_dense(const Context& context, const RunConfig& config,
                                   const TrainingData& data, const std::function<Plan()>& make_plan,
                                   const AgainstRequest& request);

std::string report_of(const AgainstDense& result);
JsonValue json_of(const AgainstDense& result);

}  // namespace twill::cli
