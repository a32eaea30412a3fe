// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/require.h"
#include "sparsity/recipe/recipe.h"

namespace twill {
namespace {

// The number in front of `unit`, or nothing: "250000 steps".
std::optional<double> number_before(const std::string& text, std::string_view unit) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  while (*end == ' ') ++end;
  return std::string_view(end) == unit ? std::optional(value) : std::nullopt;
}

// "0.8333" or "5/6".
std::optional<double> fraction(const std::string& text) {
  if (const auto whole = number_before(text, "")) return whole;
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto above = number_before(text.substr(0, slash), "");
  const auto below = number_before(text.substr(slash + 1), "");
  if (!above || !below || *below <= 0.0) return std::nullopt;
  return *above / *below;
}

std::string list_text(const std::vector<std::string>& words) {
  return fmt::format("[\"{}\"]", fmt::join(words, "\", \""));
}

std::string place(std::size_t index) { return fmt::format("recipe.phase.{}", index); }

void check_weights(const PhaseConfig& phase, const std::string& at) {
  const WeightsPart& weights = phase.weights;
  require(
      weights.is_topology() == (weights.pattern == WeightPattern::kUnstructured),
      "{}: weights.projection = \"{}\" does not go with weights.pattern = \"{}\": a kept topology "
      "is unstructured, and an unstructured pattern is a kept topology",
      at, word_of(weights.projection), word_of(weights.pattern));
  require(!weights.is_soft() || weights.pattern == WeightPattern::k24,
          "{}: weights.projection = \"soft\" is defined for weights.pattern = \"2:4\", got \"{}\"",
          at, word_of(weights.pattern));
  require(
      phase.decay.on == DecayOn::kNone || !(weights.is_dense() || weights.is_topology()),
      "{}: decay.on = \"{}\" pulls on pruned weights, but weights.pattern = \"{}\" has none; set "
      "decay.on = \"none\"",
      at, word_of(phase.decay.on), word_of(weights.pattern));
  require(
      phase.decay.on != DecayOn::kNone || phase.decay.lambda == 0.0,
      "{}: decay.lambda = {} does nothing while decay.on = \"none\"; set decay.on = \"gradients\"",
      at, phase.decay.lambda);
  require(!(weights.pattern == WeightPattern::kVenom && weights.m % 4 != 0),
          "{}: weights.m = {} must be a multiple of 4", at, weights.m);
}

void check_wgrad(const PhaseConfig& phase, const std::string& at) {
  const bool kept = phase.wgrad.estimator == WgradEstimator::kKept;
  require(kept == phase.weights.is_topology(),
          "{}: wgrad.estimator = \"{}\" does not go with weights.projection = \"{}\": \"kept\" and "
          "\"topology\" need each other",
          at, word_of(phase.wgrad.estimator), word_of(phase.weights.projection));
  require(phase.optimizer.on_update == OnUpdate::kSkip || phase.weights.is_topology(),
          "{}: optimizer.on_update is for a kept topology", at);
}

void check_activations(const PhaseConfig& phase, const std::string& at) {
  const ActivationsPart& part = phase.activations;
  const bool routed = part.order == BlockOrder::kCentroid || part.order == BlockOrder::kEnergy;
  require(!routed || part.clusters,
          "{}: activations.order = \"{}\" sorts tokens by clusters of neurons; set "
          "activations.clusters = true",
          at, word_of(part.order));
  require(
      !part.clusters ||
          (part.pattern == ActivationPattern::kVenom && part.m % 4 == 0 && part.m > 4),
      "{}: activations.clusters needs activations.pattern = \"V:2:M\" with m a multiple of 4 above "
      "4, got \"{}\" with m = {}",
      at, word_of(part.pattern), part.m);
  require(!(part.pattern == ActivationPattern::kVenom ||
            part.transposed == TransposedPattern::kVenom) ||
              part.m % 4 == 0,
          "{}: activations.m = {} must be a multiple of 4", at, part.m);
  require(
      !part.is_dense() || (part.transposed == TransposedPattern::kNone && part.dense_share == 0.0),
      "{}: activations.transposed and dense_share belong to a selection, but activations.pattern "
      "is \"dense\"",
      at);
  require(part.is_dense() || phase.wgrad.estimator == WgradEstimator::kDense,
          "{}: wgrad.estimator = \"{}\" and activations.pattern = \"{}\" would both sparsify the "
          "weight "
          "gradient; use one",
          at, word_of(phase.wgrad.estimator), word_of(part.pattern));
}

void check_topology(const PhaseConfig& phase, const std::string& at) {
  const bool says = phase.topology.density != 1.0 || phase.topology.density_end >= 0.0;
  require(phase.weights.is_topology() || !says,
          "{}: topology.density is for weights.projection = \"topology\", got \"{}\"", at,
          word_of(phase.weights.projection));
  if (!phase.weights.is_topology()) return;
  require(phase.topology.density > 0.0 && phase.topology.end() > 0.0,
          "{}: topology.density must be above 0, got {} and {}", at, phase.topology.density,
          phase.topology.end());
}

// A topology moves at updates only: without one, a phase never goes where it says.
void check_updates(const PhaseConfig& phase, const std::string& at, std::int64_t begin,
                   std::int64_t end, const RunLength& length) {
  const TopologyPart& part = phase.topology;
  if (!phase.weights.is_topology()) return;
  const std::int64_t interval = part.interval_in(length.steps);
  const std::int64_t last = (std::min(end, length.steps) - 1) / interval * interval;
  require(part.end() == part.density || last >= std::max<std::int64_t>(begin, 1),
          "{}: topology.density goes to {}, but no update falls into steps {} to {} at "
          "topology.interval = {}; lower it, or train longer",
          at, part.end(), begin, end, interval);
  require(interval > 1 || part.churn == 0.0 || phase.optimizer.on_update == OnUpdate::kApply,
          "{}: topology.interval = 1 with optimizer.on_update = \"skip\" leaves no step for the "
          "optimizer; raise it",
          at);
}

// What a phase asks of the one before or behind it.
void check_neighbours(const RecipeConfig& recipe, std::size_t index) {
  const PhaseConfig& phase = recipe.phase[index];
  const std::string at = place(index);
  require(index > 0 || phase.optimizer.second_moment == SecondMoment::kAdaptive,
          "{}: optimizer.second_moment = \"frozen\" has nothing to freeze in the first phase", at);
  require(index + 1 < recipe.phase.size() || phase.early_end.when == EarlyEnd::kNever,
          "{}: early_end.when = \"{}\" in the last phase: no phase follows it", at,
          word_of(phase.early_end.when));
  if (index == 0) return;
  const PhaseConfig& before = recipe.phase[index - 1];
  if (!phase.weights.is_topology() || !before.weights.is_topology()) return;
  const auto& layers = phase.layers.empty() ? recipe.layers : phase.layers;
  const auto& layers_before = before.layers.empty() ? recipe.layers : before.layers;
  require(layers == layers_before,
          "{}: layers = {} continues the kept topology of {}, which has layers = {}: one topology "
          "has one set of layers",
          at, list_text(layers), place(index - 1), list_text(layers_before));
}

void check_parts(const RecipeConfig& recipe, std::size_t index) {
  const PhaseConfig& phase = recipe.phase[index];
  const std::string at = place(index);
  check_weights(phase, at);
  check_wgrad(phase, at);
  check_activations(phase, at);
  check_topology(phase, at);
  check_neighbours(recipe, index);
}

}  // namespace

std::int64_t phase_end(const std::string& until, const RunLength& length) {
  if (const auto steps = number_before(until, "steps"); steps && *steps >= 0.0 && *steps < 1e15)
    return std::llround(*steps);
  if (const auto tokens = number_before(until, "tokens");
      tokens && *tokens >= 0.0 && *tokens < 1e18)
    return static_cast<std::int64_t>(
        std::ceil(*tokens / static_cast<double>(length.tokens_per_step)));
  const auto share = fraction(until);
  require(
      share && *share >= 0.0 && *share <= 1.0,
      "recipe: until = \"{}\" is not an end: expected a fraction of the run as 0.8333 or \"5/6\", "
      "\"250000 steps\" or \"130e9 tokens\"",
      until);
  return std::llround(*share * static_cast<double>(length.steps));
}

void validate(const RecipeConfig& recipe, const RunLength& length) {
  std::int64_t before = 0;
  for (std::size_t i = 0; i < recipe.phase.size(); ++i) {
    const std::string& until = recipe.phase[i].until;
    const std::int64_t end = phase_end(until, length);
    // A run so short that it ends with the phase before has nothing left for this one.
    const bool is_over = i > 0 && before == length.steps && end == before;
    require(
        end > before || is_over,
        "{}: until = \"{}\" ends at step {}, but the phase begins there or later (step {}): phases "
        "may not overlap or be empty; this run has {} steps, train longer or change the ends",
        place(i), until, end, before, length.steps);
    check_parts(recipe, i);
    if (!is_over) check_updates(recipe.phase[i], place(i), before, end, length);
    require(!recipe.layers.empty() || !recipe.phase[i].layers.empty(),
            "{}: no layers: recipe.layers is empty", place(i));
    before = end;
  }
  require(recipe.phase.empty() || before >= length.steps,
          "recipe: the last phase ends at step {}, and steps {} to {} have none; let it end at 1.0",
          before, before, length.steps);
}

}  // namespace twill
