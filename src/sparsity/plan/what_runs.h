// SPDX-License-Identifier: Apache-2.0
// What a recipe really trains under a plan, in numbers and in words. A recipe's name says what was asked for;
// under `fastest` that can be more than what runs.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "nn/seam.h"
#include "sparsity/plan/plan.h"

namespace twill {

// One phase. Matrices are those in its scope.
struct PhaseRuns {
  std::int64_t phase = 0;
  std::int64_t matrices = 0;
  std::int64_t sparse = 0;   // run as the phase says; the others train dense
  std::int64_t packed = 0;   // of these, at least one product leaves zeros out
  std::int64_t sampled = 0;  // of these, the gradient is a sample
  bool selects = false;      // FFNs select activations
};

// One for every phase that is not dense, in their order.
std::vector<PhaseRuns> what_runs(const RecipeConfig& recipe, const Plan& plan,
                                 const std::deque<LinearSeam>& layers);

// "8 of 8 matrices 2:4-transposable, 6 packed; MVUE in all"
// "4 of 8 matrices 2:4-transposable, 4 dense; MVUE in none (dense gradients)"
std::string runs_text(const PhaseConfig& phase, const PhaseRuns& runs);

// Of a whole recipe: its first phase that is not dense, and how many more there are.
std::string runs_text(const RecipeConfig& recipe, const std::vector<PhaseRuns>& runs);

}  // namespace twill
