// SPDX-License-Identifier: Apache-2.0
#include "sparsity/plan/what_runs.h"

#include <algorithm>

#include <fmt/format.h>

namespace twill {
namespace {

bool is_sampled(const PhaseConfig& phase, const Plan& plan, const PlanEntry& entry) {
  if (!entry.on || !phase.wgrad.is_sample()) return false;
  return plan.execution != Execution::kFastest || entry.wgrad_below > 0.0;
}

template <class Part>
std::string pattern_word(const Part& part) {
  using Pattern = decltype(part.pattern);
  if (part.pattern == Pattern::kVenom) return fmt::format("{}:2:{}", part.v, part.m);
  return std::string(word_of(part.pattern));
}

std::string form_of(const PhaseConfig& phase) {
  if (!phase.weights.is_dense()) return pattern_word(phase.weights);
  if (!phase.activations.is_dense()) return "with selected activations";
  return phase.wgrad.is_sample() ? "with sampled gradients" : "as the phase says";
}

std::string sampling_text(const PhaseConfig& phase, const PhaseRuns& runs) {
  if (!phase.wgrad.is_sample()) return {};
  if (runs.sampled == 0) return "; MVUE in none (dense gradients)";
  if (runs.sampled == runs.matrices) return "; MVUE in all";
  return fmt::format("; MVUE in {} (dense gradients in {})", runs.sampled,
                     runs.matrices - runs.sampled);
}

std::string activations_text(const PhaseConfig& phase, const PhaseRuns& runs) {
  if (phase.activations.is_dense()) return {};
  return runs.selects ? fmt::format("; {} activations", pattern_word(phase.activations))
                      : "; activations whole";
}

}  // namespace

std::vector<PhaseRuns> what_runs(const RecipeConfig& recipe, const Plan& plan,
                                 const std::deque<LinearSeam>& layers) {
  std::vector<PhaseRuns> all;
  for (const PlanEntry& site : planned_sites(recipe, layers)) {
    const PhaseConfig& phase = recipe.phase[static_cast<std::size_t>(site.phase)];
    if (all.empty() || all.back().phase != site.phase)
      all.push_back({.phase = site.phase,
                     .selects = !phase.activations.is_dense() && plan.selects(site.phase)});
    const auto planned = std::ranges::find_if(plan.layer, [&](const PlanEntry& entry) {
      return entry.phase == site.phase && entry.outputs == site.outputs &&
             entry.inputs == site.inputs && (entry.site.empty() || entry.site == site.site);
    });
    const PlanEntry& entry = planned != plan.layer.end() ? *planned : site;  // masked
    PhaseRuns& runs = all.back();
    runs.matrices += site.layers;
    if (entry.on) runs.sparse += site.layers;
    if (entry.is_packed()) runs.packed += site.layers;
    if (is_sampled(phase, plan, entry)) runs.sampled += site.layers;
  }
  return all;
}

std::string runs_text(const PhaseConfig& phase, const PhaseRuns& runs) {
  std::string text =
      fmt::format("{} of {} matrices {}", runs.sparse, runs.matrices, form_of(phase));
  if (runs.sparse < runs.matrices) text += fmt::format(", {} dense", runs.matrices - runs.sparse);
  if (runs.packed > 0 && runs.packed < runs.sparse) text += fmt::format(", {} packed", runs.packed);
  if (runs.packed == 0 && runs.sparse > 0) text += ", none packed";
  return text + sampling_text(phase, runs) + activations_text(phase, runs);
}

std::string runs_text(const RecipeConfig& recipe, const std::vector<PhaseRuns>& runs) {
  if (runs.empty()) return "dense";
  const PhaseRuns& first = runs.front();
  std::string text = runs_text(recipe.phase[static_cast<std::size_t>(first.phase)], first);
  if (runs.size() > 1)
    text += fmt::format("; {} more sparse phase{}", runs.size() - 1, runs.size() == 2 ? "" : "s");
  return text;
}

}  // namespace twill
