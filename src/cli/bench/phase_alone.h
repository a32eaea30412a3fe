// SPDX-License-Identifier: Apache-2.0
// One moment of a recipe made a recipe of its own, for who times it: a run that begins in a later
// phase would have none of the state that earlier ones leave.
#pragma once

#include <cstdint>

#include "sparsity/plan/plan.h"
#include "sparsity/recipe/recipe.h"

namespace twill::cli {

struct PhaseAlone {
  RecipeConfig recipe;  // one phase; a topology keeps the density of the moment
  std::int64_t phase = 0;
};

// `at` is a fraction of the run, 0 to 1. A recipe without phases is dense.
PhaseAlone phase_alone(const RecipeConfig& recipe, const RunLength& length, double at);

// What a plan of the whole recipe says of that phase.
Plan plan_of_phase(const Plan& plan, std::int64_t phase);

// What a phase does from time to time: new masks, an update of the topology.
struct RareWork {
  std::int64_t every = 0;  // steps; 0: nothing is rare
  std::int64_t remainder = 0;
  const char* what = "";

  // The first step from `step` on that does it, steps counted from 0.
  std::int64_t next(std::int64_t step) const;
};
RareWork rare_work(const PhaseConfig& phase, std::int64_t steps);

// What a step takes on average where one of `every` takes `rare`.
double mean_seconds(double common, double rare, std::int64_t every);

}  // namespace twill::cli
