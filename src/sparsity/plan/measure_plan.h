// SPDX-License-Identifier: Apache-2.0
// The plan of executions "auto" and "fastest": for every phase and kind of site, what dense and packed
// products cost on this machine, and what it costs to keep masks and packed weights up to date.
#pragma once

#include <deque>
#include <functional>

#include "nn/seam.h"
#include "ops/context.h"
#include "sparsity/plan/plan.h"

namespace twill {

struct PlanRequest {
  std::int64_t tokens = 0;        // of a micro-batch
  std::int64_t accumulation = 1;  // micro-batches of a step: upkeep is paid once for them
  std::int64_t steps = 1;         // of the run: how often a topology moves
  DType type = DType::kF32;       // of activations and operands
  // Nothing packed has run in this process: what it takes from everything else is measured, not taken from
  // KernelTable::slowed_by_packed.
  bool is_alone = false;
  // Called before each shape is measured, for who shows progress; may be empty.
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
};

// Takes a few seconds: products on a CPU are cut to at most 8 GFLOP and scaled back up. What cannot run packed
// here, or gains nothing by it, is masked in `auto` and off in `fastest`; so is everything on a backend without
// packed products, and where packed products slow a device (KernelTable::slowed_by_packed) everything if no
// phase gains more than that. To measure is to launch them: the process that does so is slowed itself, those
// that read its plan are not.
Plan measure_plan(const Context& context, const RecipeConfig& recipe,
                  const std::deque<LinearSeam>& layers, const PlanRequest& request);

}  // namespace twill
