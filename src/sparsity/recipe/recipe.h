// SPDX-License-Identifier: Apache-2.0
// A recipe is a list of phases; a phase sets a few parts; each part is one decision that knows nothing
// of the others. Every published method is a short TOML file over these parts (configs/recipes).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "sparsity/recipe/recipe_words.h"

namespace twill {

// What forward and dgrad multiply with.
struct WeightsPart {
  WeightPattern pattern = WeightPattern::kDense;
  Projection projection = Projection::kHard;
  std::int64_t refresh = 1;
  WeightAxis axis = WeightAxis::kInputs;
  SoftScale scale = SoftScale::kMinMse;
  std::int64_t v = 64;
  std::int64_t m = 8;
  std::vector<std::string> forward{"*"};
  std::vector<std::string> dgrad{"*"};
  void fields(FieldVisitor& visit);

  bool is_dense() const { return pattern == WeightPattern::kDense; }
  bool is_topology() const { return projection == Projection::kTopology; }
  bool is_soft() const { return projection == Projection::kSoft; }
  // The mask and its transposed are both 2:4.
  bool is_both_ways() const {
    return pattern == WeightPattern::kTransposable24 || pattern == WeightPattern::kGreedy24;
  }
};

// How dY enters the weight gradient.
struct WgradPart {
  WgradEstimator estimator = WgradEstimator::kDense;
  void fields(FieldVisitor& visit);

  bool is_sample() const {
    return estimator == WgradEstimator::kMvue || estimator == WgradEstimator::kMvueTwoDraw;
  }
};

// Which activations of an FFN are multiplied.
struct ActivationsPart {
  ActivationPattern pattern = ActivationPattern::kDense;
  std::int64_t v = 64;
  std::int64_t m = 8;
  BlockOrder order = BlockOrder::kAsIs;
  bool clusters = false;
  std::int64_t refresh = 1000;
  double dense_share = 0.0;
  DenseIn dense_in = DenseIn::kAll;
  TransposedPattern transposed = TransposedPattern::kNone;
  void fields(FieldVisitor& visit);

  bool is_dense() const { return pattern == ActivationPattern::kDense; }
  // Columns of a block of the selection: of 2:4, four.
  std::int64_t window() const { return pattern == ActivationPattern::k24 ? 4 : m; }
};

// How a kept topology moves.
struct TopologyPart {
  double density = 1.0;
  double density_end = -1.0;
  std::int64_t stairs = 0;
  FirstStair first_stair = FirstStair::kLater;
  Distribution distribution = Distribution::kErdosRenyi;
  TopologyStart start = TopologyStart::kRandom;
  std::int64_t interval = 0;
  Anneal anneal = Anneal::kRun;
  double churn = 0.3;
  double anneal_turn = 1.0;
  DropBy drop = DropBy::kMagnitude;
  double mest_lambda = 0.0;
  GrowBy grow = GrowBy::kMixed;
  double grow_ratio = 3.0;
  void fields(FieldVisitor& visit);

  double end() const { return density_end >= 0.0 ? density_end : density; }
  // Steps between updates in a run of `steps`.
  std::int64_t interval_in(std::int64_t steps) const;
};

// A pull on pruned weights.
struct DecayPart {
  DecayOn on = DecayOn::kNone;
  double lambda = 0.0;
  void fields(FieldVisitor& visit);
};

// Which pairs attention computes.
struct AttentionPart {
  AttentionPattern mask = AttentionPattern::kCausal;
  std::int64_t stride = 0;
  void fields(FieldVisitor& visit);
};

// Number format of the products.
struct QuantisePart {
  NumberFormat format = NumberFormat::kNone;
  void fields(FieldVisitor& visit);
};

// What the recipe asks of the optimizer.
struct OptimizerPart {
  OnUpdate on_update = OnUpdate::kSkip;
  Regrown regrown = Regrown::kLayerMean;
  SecondMoment second_moment = SecondMoment::kAdaptive;
  void fields(FieldVisitor& visit);
};

// A phase may end early, when the second moments have settled.
struct EarlyEndPart {
  EarlyEnd when = EarlyEnd::kNever;
  double after = 0.1;
  double below = 1e-8;
  void fields(FieldVisitor& visit);
};

struct PhaseConfig {
  std::string until = "1.0";
  std::vector<std::string> layers;
  WeightsPart weights;
  WgradPart wgrad;
  ActivationsPart activations;
  TopologyPart topology;
  DecayPart decay;
  AttentionPart attention;
  QuantisePart quantise;
  OptimizerPart optimizer;
  EarlyEndPart early_end;
  void fields(FieldVisitor& visit);

  bool is_dense() const;
};

struct HealthConfig {
  std::int64_t every = 40;
  VirtualMask virtual_mask = VirtualMask::kNone;
  bool activations = false;
  void fields(FieldVisitor& visit);
};

struct RecipeConfig {
  std::string name = "dense";
  std::string summary;
  std::string paper;
  std::vector<std::string> layers{"ffn"};
  std::string needs_activation;
  OnAlarm on_alarm = OnAlarm::kWarn;
  Execution execution = Execution::kAuto;
  std::vector<PhaseConfig> phase;
  HealthConfig health;
  void fields(FieldVisitor& visit);

  bool is_dense() const;
  // Neither the recipe nor its watching touches a training step.
  bool leaves_steps_alone() const;
  // A device can be given the whole of a step. V:N:M activations are not recorded yet: their tokens are
  // routed by scores of every pass, with workspaces that no recording has been tried on.
  bool steps_on_device() const;
};

// The length of a run, for phases that end at a fraction, a step or a token count.
struct RunLength {
  std::int64_t steps = 1;
  std::int64_t tokens_per_step = 1;
};

// "0.8333", "250000 steps" or "130e9 tokens" as the first step that no longer belongs to the phase.
std::int64_t phase_end(const std::string& until, const RunLength& length);

// Everything about a recipe that no single range can check and that needs no model: phases that
// overlap or leave a gap, impossible combinations of parts. One line, before any training.
void validate(const RecipeConfig& recipe, const RunLength& length);

// The recipes that come with Twill, as TOML texts (configs/recipes/NAME.toml), by name.
struct BuiltInRecipe {
  std::string_view name;
  std::string_view toml;
};
const std::vector<BuiltInRecipe>& built_in_recipes();
std::optional<std::string_view> find_recipe(std::string_view name);

}  // namespace twill
