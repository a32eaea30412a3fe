// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/plan_summary.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace twill::cli {
namespace {

struct PlannedProduct {
  const char* name;
  double below, dense, packed;
  bool selected;  // without the zeros of activations
  bool is_packed(double density) const { return selected || density < below; }
};

std::array<PlannedProduct, 3> products_of(const PlanEntry& entry) {
  return {
      {{"forward", entry.forward_below, entry.dense.forward, entry.packed.forward,
        entry.forward_selected},
       {"dgrad", entry.dgrad_below, entry.dense.dgrad, entry.packed.dgrad, entry.dgrad_selected},
       {"wgrad", entry.wgrad_below, entry.dense.wgrad, entry.packed.wgrad, entry.wgrad_selected}}};
}

// Without upkeep: what grows with the tokens.
double product_seconds_if_on(const PlanEntry& entry) {
  double sum = entry.selection + (entry.packs_wgrad() ? 0.0 : entry.sampling);
  for (const PlannedProduct& product : products_of(entry))
    sum += product.is_packed(entry.density) ? product.packed : product.dense;
  return sum;
}

}  // namespace

LayerState state_of(const PlanEntry& entry) {
  if (!entry.on) return LayerState::kOff;
  return entry.is_packed() ? LayerState::kPacked : LayerState::kMasked;
}

bool is_measured(const PlanEntry& entry) { return entry.dense.sum() > 0.0; }

std::string packed_products(const PlanEntry& entry) {
  if (state_of(entry) == LayerState::kOff) return "off";
  std::string text;
  for (const PlannedProduct& product : products_of(entry)) {
    if (!product.selected && product.below <= 0.0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", product.name);
    if (product.selected) text += " of activations";
    if (product.below <= 0.0) continue;
    // A topology may grow denser than what the product gains at, or begin so.
    if (is_measured(entry) && entry.density >= product.below)
      text += fmt::format(" below {:.2f}", product.below);
  }
  return text.empty() ? "masked" : text;
}

double seconds_if_on(const PlanEntry& entry) { return product_seconds_if_on(entry) + entry.upkeep; }

double gain_of(const PlanEntry& entry) {
  return entry.on && is_measured(entry) ? entry.dense.sum() / seconds_if_on(entry) : 1.0;
}

std::optional<std::int64_t> break_even_tokens(const PlanEntry& entry, std::int64_t plan_tokens) {
  const double saved = entry.dense.sum() - product_seconds_if_on(entry);
  if (!is_measured(entry) || saved <= 0.0) return std::nullopt;
  const double tokens = static_cast<double>(plan_tokens) * entry.upkeep / saved;
  if (tokens > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(std::floor(tokens)) + 1;
}

double PhasePlan::product_gain() const {
  return planned_seconds > 0.0 ? dense_seconds / planned_seconds : 1.0;
}

std::vector<PhasePlan> phase_plans(const Plan& plan) {
  std::vector<PhasePlan> phases;
  for (const PlanEntry& entry : plan.layer) {
    auto found = std::ranges::find(phases, entry.phase, &PhasePlan::phase);
    if (found == phases.end()) found = phases.insert(found, {.phase = entry.phase});
    const LayerState state = state_of(entry);
    const auto layers = static_cast<double>(entry.layers);
    found->layers += entry.layers;
    found->sparse += state == LayerState::kPacked ? entry.layers : 0;
    found->masked += state == LayerState::kMasked ? entry.layers : 0;
    found->measured |= is_measured(entry);
    found->dense_seconds += layers * entry.dense.sum();
    found->planned_seconds += layers * (entry.on ? seconds_if_on(entry) : entry.dense.sum());
  }
  std::ranges::sort(phases, {}, &PhasePlan::phase);
  return phases;
}

std::string layers_text(const PhasePlan& phase) {
  std::string text = fmt::format("{} of {} matrices packed", phase.sparse, phase.layers);
  const std::int64_t off = phase.layers - phase.sparse - phase.masked;
  if (phase.masked > 0) text += fmt::format(", {} masked", phase.masked);
  if (off > 0) text += fmt::format(", {} train dense", off);
  return text;
}

std::string slowing_text(const Plan& plan) {
  if (!plan.slows_too_much) return {};
  return fmt::format(
      "packed products would save less than the {:.0f} % of everything that they cost this device "
      "in clocks",
      100.0 * plan.slowed_by_packed);
}

double step_gain(const PhasePlan& phase, double dense_seconds, double slowed) {
  const double left = (1.0 + slowed) * dense_seconds - phase.saved_seconds();
  return phase.measured && left > 0.0 ? dense_seconds / left : 1.0;
}

double run_gain(const std::vector<PhaseShare>& phases) {
  double dense = 0.0, planned = 0.0;
  for (const PhaseShare& phase : phases) {
    dense += phase.share;
    planned += phase.share / phase.gain;
  }
  return planned > 0.0 ? dense / planned : 1.0;
}

}  // namespace twill::cli
