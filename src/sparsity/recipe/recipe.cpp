// SPDX-License-Identifier: Apache-2.0
#include "sparsity/recipe/recipe.h"

#include <algorithm>

namespace twill {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;

}  // namespace

void WeightsPart::fields(FieldVisitor& visit) {
  visit("pattern", pattern, "which weights may stay");
  visit(
      "projection", projection,
      "hard: the largest as they are; soft: shrunk by a threshold, times a scale; topology: a kept "
      "set that [topology] moves");
  visit("refresh", refresh, Range<std::int64_t>{1, kMany},
        "optimizer steps between new masks of a hard projection");
  visit("axis", axis,
        "along which 2:4 groups run: inputs (rows of the weight), outputs, or whichever of them is "
        "the model's width");
  visit("scale", scale,
        "of a soft projection, frozen when the phase begins: min-mse, keep-l1, none; recomputed: "
        "min-mse anew in every step");
  visit("v", v, Range<std::int64_t>{1, 4096}, "V:2:M: rows of a block");
  visit("m", m, Range<std::int64_t>{4, 128}, "V:2:M: columns of a block, of which four survive");
  visit("forward", forward, "layers (globs) whose forward product takes the projected weight");
  visit("dgrad", dgrad, "layers (globs) whose input gradient takes the projected weight");
}

void WgradPart::fields(FieldVisitor& visit) {
  visit("estimator", estimator,
        "dense; mvue: an unbiased 2:4 sample of dY along tokens; mvue-two-draw: the authors' law; "
        "kept: only where the topology has weights");
}

void ActivationsPart::fields(FieldVisitor& visit) {
  visit("pattern", pattern, "which activations of an FFN are multiplied");
  visit("v", v, Range<std::int64_t>{1, 4096}, "V:2:M: tokens of a block");
  visit("m", m, Range<std::int64_t>{4, 128}, "V:2:M: neurons of a block, of which four survive");
  visit(
      "order", order,
      "which tokens share a block: neighbours, a fixed permutation, sorted by the nearest centroid "
      "of the input, or by the cluster with the largest activations");
  visit("clusters", clusters,
        "group the neurons of alike weights into m / 4 clusters and spread them over the blocks");
  visit("refresh", refresh, Range<std::int64_t>{1, kMany},
        "optimizer steps between new clusters and a new dense share");
  visit("dense_share", dense_share, Range<double>{0.0, 0.5},
        "share of the neurons, the densest, that no selection touches");
  visit("dense_in", dense_in, "where the dense share holds: all products, or wgrad only");
  visit("transposed", transposed,
        "selection along tokens of what the weight gradients multiply with");
}

void TopologyPart::fields(FieldVisitor& visit) {
  visit("density", density, Range<double>{0.0, 1.0},
        "share of the weights kept, all layers together");
  visit("density_end", density_end, Range<double>{-1.0, 1.0},
        "density at the end of the phase; -1: the same");
  visit("stairs", stairs, Range<std::int64_t>{0, kMany},
        "steps of the way from density to density_end; 0: one per update");
  visit(
      "first_stair", first_stair,
      "later: the phase begins at density; at-start: its first stair is taken at once, so that the "
      "last one is trained on");
  visit("distribution", distribution, "how layers share the density");
  visit("start", start, "which weights a run that begins sparse keeps first");
  visit("interval", interval, Range<std::int64_t>{0, kMany},
        "optimizer steps between updates; 0: 1/120 of the run, at least 10");
  visit("churn", churn, Range<double>{0.0, 1.0},
        "share of the kept weights that an update replaces, at first");
  visit("anneal", anneal, "the churn falls along a cosine over the run, or over the phase");
  visit("anneal_turn", anneal_turn, Range<double>{0.0, 1.0},
        "share of the half turn of that cosine: 1 ends at no churn, 0 keeps it constant");
  visit("drop", drop, "score of what is dropped: |w|, |w| + lambda |g|, |w / g|");
  visit("mest_lambda", mest_lambda, Range<double>{0.0, 1e9}, "lambda of drop = \"mest\"");
  visit("grow", grow, "what grows: the largest gradients, chance, or both");
  visit("grow_ratio", grow_ratio, Range<double>{0.0, 1e9},
        "of grow = \"mixed\": parts by gradient for one by chance");
}

// Below about a hundred updates a moving topology does no better than a fixed one; but an update takes
// the place of a step, and more than one in ten is too many.
std::int64_t TopologyPart::interval_in(std::int64_t steps) const {
  return interval > 0 ? interval : std::max<std::int64_t>(10, steps / 120);
}

void DecayPart::fields(FieldVisitor& visit) {
  visit("on", on, "pull on pruned weights: added to their gradients, or to the step");
  visit("lambda", lambda, Range<double>{0.0, 1e9}, "strength; twill tune decay finds one");
}

void AttentionPart::fields(FieldVisitor& visit) {
  visit("mask", mask, "which pairs attention computes in training");
  visit("stride", stride, Range<std::int64_t>{0, 1 << 24},
        "of the mask; 0: an eighth of the sequence");
}

void QuantisePart::fields(FieldVisitor& visit) {
  visit(
      "format", format,
      "rounding of the products' operands, simulated: fp8 (weights and activations e4m3, gradients "
      "e5m2), fp8-reference (forward e4m3, backward e5m2)");
}

void OptimizerPart::fields(FieldVisitor& visit) {
  visit("on_update", on_update, "the optimizer's step at an update of the topology");
  visit("regrown", regrown,
        "moments of regrown weights: m 0 and v the layer's mean, both 0, "
        "or what has decayed");
  visit("second_moment", second_moment,
        "frozen: AdamW's second moments stay as they are, without bias correction, eps to the 3/4");
}

void EarlyEndPart::fields(FieldVisitor& visit) {
  visit("when", when, "the phase ends before `until` when the second moments have settled");
  visit("after", after, Range<double>{0.0, 1.0}, "but not before this share of the run");
  visit("below", below, Range<double>{0.0, 1e9},
        "settled: mean change of a second moment, averaged over 1 / (1 - beta2) steps, below this");
}

void PhaseConfig::fields(FieldVisitor& visit) {
  visit.number_or_text(
      "until", until,
      "end of the phase: a fraction of the run, \"250000 steps\" or \"130e9 tokens\"");
  visit("layers", layers, "layers of this phase; empty: the recipe's");
  visit.section("weights", weights, "what forward and dgrad multiply with", "pattern");
  visit.section("wgrad", wgrad, "how dY enters the weight gradient", "estimator");
  visit.section("activations", activations, "which activations are multiplied", "pattern");
  visit.section("topology", topology, "how a kept topology moves", "density");
  visit.section("decay", decay, "pull on pruned weights", "on");
  visit.section("attention", attention, "which pairs attention computes", "mask");
  visit.section("quantise", quantise, "number format of the products", "format");
  visit.section("optimizer", optimizer, "what is asked of AdamW");
  visit.section("early_end", early_end, "when the phase may end early", "when");
}

bool PhaseConfig::is_dense() const {
  return weights.is_dense() && wgrad.estimator == WgradEstimator::kDense &&
         activations.is_dense() && attention.mask == AttentionPattern::kCausal &&
         quantise.format == NumberFormat::kNone &&
         optimizer.second_moment == SecondMoment::kAdaptive;
}

void HealthConfig::fields(FieldVisitor& visit) {
  visit("every", every, Range<std::int64_t>{0, kMany},
        "steps between samples of flip rate, kept mass and density; 0: none", OnResume::kFree);
  visit("virtual_mask", virtual_mask,
        "while weights are dense, the flip rate of this mask, computed but not applied");
  visit("activations", activations,
        "density and dead neurons also of FFNs whose activations are not selected");
}

void RecipeConfig::fields(FieldVisitor& visit) {
  visit("name", name, {},
        "a recipe of `twill recipes`, a TOML file, or a name for what [[phase]] says");
  visit("summary", summary, {}, "what it is, in one line", OnResume::kFree);
  visit("paper", paper, {}, "where it comes from", OnResume::kFree);
  visit("layers", layers,
        "layers in scope: ffn, attention, all-linear, head, or globs over names as "
        "blocks.*.ffn.input");
  visit("needs_activation", needs_activation, {},
        "model.ffn.activation that the recipe is made for");
  visit("on_alarm", on_alarm, "when flip rates explode or collapse: warn, or go on dense",
        OnResume::kFree);
  visit(
      "execution", execution,
      "auto: the recipe as written, products packed where that is quicker and masked elsewhere; "
      "fastest: may train matrices dense that gain nothing; packed: products that leave zeros out; "
      "masked: dense operands with explicit zeros");
  visit.list("phase", phase, "what holds until when");
  visit.section("health", health, "samples of flip rates and kept mass");
}

std::optional<std::string_view> find_recipe(std::string_view name) {
  for (const BuiltInRecipe& recipe : built_in_recipes())
    if (recipe.name == name) return recipe.toml;
  return std::nullopt;
}

bool RecipeConfig::is_dense() const { return std::ranges::all_of(phase, &PhaseConfig::is_dense); }

bool RecipeConfig::leaves_steps_alone() const {
  return is_dense() && health.virtual_mask == VirtualMask::kNone && !health.activations;
}

bool RecipeConfig::steps_on_device() const {
  return std::ranges::none_of(phase, [](const PhaseConfig& one) {
    return one.activations.pattern == ActivationPattern::kVenom;
  });
}

}  // namespace twill
