// SPDX-License-Identifier: Apache-2.0
#include "sparsity/plan/plan.h"

#include <algorithm>
#include <array>

#include "nn/builder.h"
#include "nn/seam.h"
#include "sparsity/recipe/scope.h"

namespace twill {
namespace {

constexpr Range<std::int64_t> kCount{0, std::int64_t{1} << 60};
constexpr Range<double> kShare{0.0, 2.0};
constexpr Range<double> kSeconds{0.0, 1e9};

// Denser topologies run with dense operands even when everything shall be packed: a nearly full
// matrix has no zeros to leave out.
constexpr double kPackedBelow = 0.6;

void product_fields(FieldVisitor& visit, const char* name, ProductSeconds& seconds) {
  const std::string prefix(name);
  visit(prefix + "_forward", seconds.forward, kSeconds, "seconds");
  visit(prefix + "_dgrad", seconds.dgrad, kSeconds, "seconds");
  visit(prefix + "_wgrad", seconds.wgrad, kSeconds, "seconds");
}

PlanEntry entry_for(std::int64_t phase, const LinearSeam& seam) {
  PlanEntry entry;
  entry.phase = phase;
  entry.site = site_kind(seam.name);
  entry.outputs = seam.weight->shape[0];
  entry.inputs = seam.weight->shape[1];
  return entry;
}

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

bool covers(const PlanEntry& entry, const PlanEntry& site) {
  return entry.phase == site.phase && entry.outputs == site.outputs &&
         entry.inputs == site.inputs && (entry.site.empty() || entry.site == site.site);
}

}  // namespace

double PlanEntry::seconds() const {
  if (!on) return dense.sum();
  return (packs_forward() ? packed.forward : dense.forward) +
         (packs_dgrad() ? packed.dgrad : dense.dgrad) +
         (packs_wgrad() ? packed.wgrad : dense.wgrad + sampling) + upkeep + selection;
}

void PlanEntry::fields(FieldVisitor& visit) {
  visit("phase", phase, kCount, "of the recipe, from 0");
  visit("site", site, {}, "where its layers stand; empty: wherever they have the shape");
  visit("outputs", outputs, kCount, "rows of the weight");
  visit("inputs", inputs, kCount, "columns of the weight");
  visit("layers", layers, kCount, "layers of this kind");
  visit("on", on, "false: trains dense");
  visit("forward_below", forward_below, kShare, "packed where the weight is less dense");
  visit("dgrad_below", dgrad_below, kShare, "packed where the weight is less dense");
  visit("wgrad_below", wgrad_below, kShare, "packed where the weight is less dense");
  visit("forward_selected", forward_selected, "without the zeros of selected activations");
  visit("dgrad_selected", dgrad_selected, "without the zeros of selected activations");
  visit("wgrad_selected", wgrad_selected, "without the zeros of selected activations");
  visit("density", density, kShare, "of the measurement");
  product_fields(visit, "dense", dense);
  product_fields(visit, "packed", packed);
  visit("upkeep", upkeep, kSeconds, "seconds per micro-batch: masks, projection, packing, decay");
  visit("selection", selection, kSeconds, "seconds per micro-batch: selecting activations");
  visit("sampling", sampling, kSeconds, "seconds per micro-batch: a sample that is not packed");
}

void Plan::fields(FieldVisitor& visit) {
  visit("format", format, Range<std::int64_t>{1, kPlanFormat}, "of this file");
  visit("execution", execution, "what the recipe asked for");
  visit("device", device, {}, "what was measured on");
  visit("tokens", tokens, kCount, "of a micro-batch");
  visit("slowed_by_packed", slowed_by_packed, kShare,
        "share of its time by which packed products slow everything on the device");
  visit("slows_too_much", slows_too_much,
        "nothing is packed: packed products would save less than that");
  visit.list("layer", layer, "how a kind of layers runs in a phase");
}

std::string site_kind(std::string_view name) {
  std::string kind;
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view word = name.substr(0, dot);
    kind += is_number(word) ? std::string_view("*") : word;
    if (dot == std::string_view::npos) return kind;
    kind += '.';
    name.remove_prefix(dot + 1);
  }
}

const PlanEntry* Plan::find(std::int64_t phase, const LinearSeam& seam) const {
  const auto found = std::ranges::find_if(
      layer, [&](const PlanEntry& entry) { return entry.phase == phase && entry.is_of(seam); });
  return found == layer.end() ? nullptr : &*found;
}

bool PlanEntry::is_of(const LinearSeam& seam) const {
  return seam.weight->shape[0] == outputs && seam.weight->shape[1] == inputs &&
         (site.empty() || site == site_kind(seam.name));
}

PlanFit fit_of(const Plan& plan, const std::vector<PlanEntry>& sites) {
  for (const PlanEntry& site : sites)
    if (std::ranges::none_of(plan.layer, [&](const auto& entry) { return covers(entry, site); }))
      return {.missing = &site};
  for (const PlanEntry& entry : plan.layer)
    if (std::ranges::none_of(sites, [&](const auto& site) { return covers(entry, site); }))
      return {.unasked = &entry};
  return {};
}

bool Plan::is_on(std::int64_t phase, const LinearSeam& seam) const {
  const PlanEntry* entry = find(phase, seam);
  return entry == nullptr || entry->on;
}

bool Plan::is_packed(std::int64_t phase) const {
  return std::ranges::any_of(
      layer, [&](const PlanEntry& entry) { return entry.phase == phase && entry.is_packed(); });
}

bool Plan::is_packed() const { return std::ranges::any_of(layer, &PlanEntry::is_packed); }

bool Plan::is_packed_from(std::int64_t phase) const {
  return std::ranges::any_of(
      layer, [&](const PlanEntry& entry) { return entry.phase >= phase && entry.is_packed(); });
}

bool Plan::selects(std::int64_t phase) const {
  return execution != Execution::kFastest ||
         std::ranges::any_of(layer, [&](const PlanEntry& entry) {
           return entry.phase == phase && entry.on && entry.packs_activations();
         });
}

FfnRole ffn_role(const LinearSeam& seam) {
  if (seam.family != LayerFamily::kFfn) return FfnRole::kNone;
  return seam.width_axis == GroupAxis::kWithinRow ? FfnRole::kInput : FfnRole::kOutput;
}

std::vector<PlanEntry> planned_sites(const RecipeConfig& recipe,
                                     const std::deque<LinearSeam>& layers) {
  std::vector<PlanEntry> entries;
  for (std::size_t index = 0; index < recipe.phase.size(); ++index) {
    const PhaseConfig& phase = recipe.phase[index];
    const auto& words = phase.layers.empty() ? recipe.layers : phase.layers;
    if (phase.is_dense()) continue;
    const auto number = static_cast<std::int64_t>(index);
    for (const LinearSeam& seam : layers) {
      if (!is_in_scope(seam, words)) continue;
      auto found = std::ranges::find_if(entries, [&](const PlanEntry& entry) {
        return entry.phase == number && entry.is_of(seam);
      });
      if (found == entries.end()) found = entries.insert(found, entry_for(number, seam));
      ++found->layers;
    }
  }
  return entries;
}

Plan fixed_plan(const RecipeConfig& recipe, const std::deque<LinearSeam>& layers,
                bool packs_any_mask) {
  Plan plan;
  plan.execution = recipe.execution;
  if (recipe.execution == Execution::kMasked) return plan;
  plan.layer = planned_sites(recipe, layers);
  for (PlanEntry& entry : plan.layer) {
    const PhaseConfig& phase = recipe.phase[static_cast<std::size_t>(entry.phase)];
    const bool plain = phase.quantise.format == NumberFormat::kNone;
    const bool packs =
        !phase.weights.is_dense() && plain && (packs_any_mask || !phase.weights.is_topology());
    entry.forward_below = entry.dgrad_below = packs ? kPackedBelow : 0.0;
    entry.wgrad_below =
        packs && phase.wgrad.estimator != WgradEstimator::kDense ? kPackedBelow : 0.0;
    if (!packs_any_mask || !plain || phase.activations.is_dense()) continue;
    const auto seam =
        std::ranges::find_if(layers, [&](const LinearSeam& one) { return entry.is_of(one); });
    const FfnRole role = ffn_role(*seam);
    entry.forward_selected = role == FfnRole::kOutput;
    entry.dgrad_selected = role == FfnRole::kInput;
    entry.wgrad_selected = role != FfnRole::kNone;
    // No weight is packed for a product that takes activations.
    if (entry.forward_selected) entry.forward_below = 0.0;
    if (entry.dgrad_selected) entry.dgrad_below = 0.0;
  }
  return plan;
}

RecipeConfig without_masked_parts(RecipeConfig recipe, const Plan& plan) {
  for (std::size_t i = 0; i < recipe.phase.size(); ++i)
    if (!plan.selects(static_cast<std::int64_t>(i))) recipe.phase[i].activations = {};
  return recipe;
}

}  // namespace twill
