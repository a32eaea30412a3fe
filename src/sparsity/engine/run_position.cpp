// SPDX-License-Identifier: Apache-2.0
#include "sparsity/engine/run_position.h"

#include "base/require.h"
#include "nn/builder.h"
#include "sparsity/recipe/scope.h"

namespace twill {
namespace {

RecipeConfig with_phases(RecipeConfig recipe) {
  if (recipe.phase.empty()) recipe.phase.emplace_back();
  return recipe;
}

// No mask: dense.
WeightPattern virtual_pattern(VirtualMask mask) {
  if (mask == VirtualMask::k24) return WeightPattern::k24;
  return mask == VirtualMask::kNone ? WeightPattern::kDense : WeightPattern::kTransposable24;
}

}  // namespace

bool projects(const PhaseConfig& phase) {
  return !phase.weights.is_dense() && !phase.weights.is_topology();
}

RunPosition::RunPosition(const RecipeConfig& recipe, const RunLength& length, const Plan& plan)
    : plan_(plan),
      recipe_(with_phases(plan.execution == Execution::kFastest ? without_masked_parts(recipe, plan)
                                                                : recipe)),
      clock_(recipe_, length),
      num_steps_(length.steps) {
  virtual_part_.pattern = virtual_pattern(recipe.health.virtual_mask);
}

const PhaseConfig& RunPosition::phase() const {
  if (forced_dense_ || clock_.index() < 0) return dense_phase_;
  return recipe_.phase[static_cast<std::size_t>(clock_.index())];
}

const PhaseConfig& RunPosition::phase_before() const {
  const std::int64_t index = clock_.index();
  return index > 0 ? recipe_.phase[static_cast<std::size_t>(index - 1)] : dense_phase_;
}

const std::vector<std::string>& RunPosition::words_of(const PhaseConfig& phase) const {
  return phase.layers.empty() ? recipe_.layers : phase.layers;
}

bool RunPosition::in_scope(const LinearSeam& seam) const {
  return is_in_scope(seam, scope_words()) && plan_.is_on(clock_.index(), seam);
}

bool RunPosition::was_in_scope(const LinearSeam& seam) const {
  return is_in_scope(seam, words_of(phase_before())) && plan_.is_on(clock_.index() - 1, seam);
}

const PlanEntry& RunPosition::entry_of(const LinearSeam& seam) const {
  static const PlanEntry kMasked;
  const PlanEntry* entry = forced_dense_ ? nullptr : plan_.find(clock_.index(), seam);
  return entry != nullptr ? *entry : kMasked;
}

void RunPosition::save(StateTexts& texts) const {
  texts["phase"] = fmt::format("{} {} {}", clock_.index(), clock_.begin(), clock_.early_end());
  texts["forced_dense"] = forced_dense_ ? "1" : "0";
}

void RunPosition::restore(const StateTexts& texts) {
  const std::vector<double> at = numbers_at(texts, "phase", 3);
  clock_.restore(static_cast<std::int64_t>(at[0]), static_cast<std::int64_t>(at[1]),
                 static_cast<std::int64_t>(at[2]));
  forced_dense_ = text_at(texts, "forced_dense") == "1";
}

}  // namespace twill
