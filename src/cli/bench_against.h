// SPDX-License-Identifier: Apache-2.0
// twill bench step --against-dense: steps of a recipe in turns with dense steps, in one process.
#pragma once

#include <cstdint>
#include <string>

#include "cli/paired_ratio.h"
#include "cli/phase_alone.h"
#include "data/corpus.h"
#include "ops/context.h"
#include "train/run_config.h"

namespace twill::cli {

struct AgainstDense {
  std::string recipe;
  std::string phase;             // in words
  std::string layers = {};       // "41 of 48 layers sparse"
  std::int64_t block_steps = 1;  // of a turn
  std::int64_t tokens = 0;       // of a step
  double dense_seconds = 0.0;    // medians of a step
  double recipe_seconds = 0.0;
  PairedRatio gain = {};  // dense over recipe, of ordinary steps
  // Work that only some steps do, and what it adds when it is spread over the others.
  RareWork rare;
  double rare_seconds = 0.0;  // more than an ordinary step takes

  // A step of the recipe, rare work included.
  double mean_recipe_seconds() const;
  // The gain with it.
  double whole_gain() const;
};

struct AgainstRequest {
  std::int64_t rounds = 0;  // 0: 30 pairs where the host computes, 7 on a device
  std::int64_t most_block_steps = 10;
};

// `config` holds one phase (phase_alone.h), `plan` its plan.
AgainstDense measure_against_dense(const Context& context, const RunConfig& config,
                                   const Corpus& corpus, const Plan& plan,
                                   const AgainstRequest& request);

std::string report_of(const AgainstDense& result);
JsonValue json_of(const AgainstDense& result);

}  // namespace twill::cli
