// SPDX-License-Identifier: Apache-2.0
// What a plan promises, as arithmetic on its entries alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sparsity/plan/plan.h"

namespace twill::cli {

enum class LayerState : std::uint8_t {
  kPacked,  // at least one product leaves zeros out
  kMasked,  // dense operands with explicit zeros, or nothing that concerns the weights
  kOff,     // trains dense
};

LayerState state_of(const PlanEntry& entry);
// Whether costs were measured, so that a gain can be expected.
bool is_measured(const PlanEntry& entry);
// "forward, dgrad", "forward below density 0.31", "off"
std::string packed_products(const PlanEntry& entry);

// Seconds of a micro-batch if the layer is on, whatever the plan has decided.
double seconds_if_on(const PlanEntry& entry);
// Dense seconds over those of the plan: 1 where the layer is off.
double gain_of(const PlanEntry& entry);

// Tokens of a micro-batch from which the layer gains: its products' times grow with the tokens,
// upkeep does not. Absent where packed products are no quicker at any size, or nothing is measured.
std::optional<std::int64_t> break_even_tokens(const PlanEntry& entry, std::int64_t plan_tokens);

// All layers of a phase that the recipe names.
struct PhasePlan {
  std::int64_t phase = 0;
  std::int64_t layers = 0;
  std::int64_t sparse = 0;  // packed
  std::int64_t masked = 0;
  bool measured = false;
  double dense_seconds = 0.0;    // of all their products, per micro-batch
  double planned_seconds = 0.0;  // upkeep included

  double saved_seconds() const { return dense_seconds - planned_seconds; }
  double product_gain() const;
};

// In the order of phases; phases that the plan does not name are dense and not in it.
std::vector<PhasePlan> phase_plans(const Plan& plan);
// "41 of 48 matrices packed", with what the others are where they are not all off.
std::string layers_text(const PhasePlan& phase);

// A dense step takes `dense_seconds` per micro-batch: what it takes with the phase's products is less
// by what they save, and more by the share `slowed` that packed products take from everything. 1 where nothing
// is known.
double step_gain(const PhasePlan& phase, double dense_seconds, double slowed = 0.0);
// "packed products would save less than the 4 % …": why everything is off; empty where it is not.
std::string slowing_text(const Plan& plan);

// Over a whole run: the share of the steps of each phase, and the gain of its steps.
struct PhaseShare {
  double share = 0.0;
  double gain = 1.0;
};
double run_gain(const std::vector<PhaseShare>& phases);

}  // namespace twill::cli
