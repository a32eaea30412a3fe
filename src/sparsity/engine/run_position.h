// SPDX-License-Identifier: Apache-2.0
// Where a run stands in its recipe and its plan: what every part of the engine asks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/seam.h"
#include "sparsity/engine/state_text.h"
#include "sparsity/plan/plan.h"
#include "sparsity/recipe/phase_clock.h"
#include "sparsity/recipe/recipe.h"

namespace twill {

class RunPosition {
 public:
  // A recipe without phases is one dense phase; parts that the plan leaves out are dense.
  RunPosition(const RecipeConfig& recipe, const RunLength& length, const Plan& plan);
  RunPosition(const RunPosition&) = delete;
  RunPosition& operator=(const RunPosition&) = delete;

  const RecipeConfig& recipe() const { return recipe_; }
  const Plan& plan() const { return plan_; }
  PhaseClock& clock() { return clock_; }
  const PhaseClock& clock() const { return clock_; }
  std::int64_t num_steps() const { return num_steps_; }

  const PhaseConfig& phase() const;
  const PhaseConfig& phase_before() const;  // of the first: dense
  // The mask that is watched while weights are dense; dense: none.
  const WeightsPart& virtual_part() const { return virtual_part_; }

  const std::vector<std::string>& words_of(const PhaseConfig& phase) const;
  const std::vector<std::string>& scope_words() const { return words_of(phase()); }
  // In scope of the phase, and not turned off by the plan.
  bool in_scope(const LinearSeam& seam) const;
  bool was_in_scope(const LinearSeam& seam) const;  // of the phase before
  bool runs_masked() const { return plan_.execution == Execution::kMasked; }
  // How the plan lets a layer run in this phase.
  const PlanEntry& entry_of(const LinearSeam& seam) const;

  // An alarm can make the rest of a run dense.
  bool forced_dense() const { return forced_dense_; }
  void force_dense() { forced_dense_ = true; }

  void save(StateTexts& texts) const;
  void restore(const StateTexts& texts);

 private:
  Plan plan_;
  RecipeConfig recipe_;
  PhaseConfig dense_phase_;
  WeightsPart virtual_part_;
  PhaseClock clock_;
  std::int64_t num_steps_;
  bool forced_dense_ = false;
};

// Forward or dgrad take another weight than the master.
bool projects(const PhaseConfig& phase);

}  // namespace twill
