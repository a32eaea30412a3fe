// SPDX-License-Identifier: Apache-2.0
#include "sparsity/engine/engine.h"

#include <algorithm>

#include "base/require.h"
#include "sparsity/recipe/scope.h"

namespace twill {

namespace {

// Patterns of recipes look back only: on a layer that sees more or less they would be another model.
void require_causal(const std::deque<AttentionSeam>& seams, const RecipeConfig& recipe) {
  for (const PhaseConfig& phase : recipe.phase) {
    const AttentionPattern mask = phase.attention.mask;
    if (mask == AttentionPattern::kCausal) continue;
    for (const AttentionSeam& seam : seams)
      require(seam.plain == AttentionPattern::kCausal,
              "recipe {}: attention.mask = \"{}\" is a pattern of causal attention, and {} is not "
              "plain causal attention; leave attention.mask out, or train a causal model",
              recipe.name, word_of(mask), seam.name);
  }
}

}  // namespace

SparsityEngine::SparsityEngine(Builder& builder, const RecipeConfig& recipe,
                               const RunLength& length, std::int64_t sequence, std::uint64_t seed,
                               const Plan& plan)
    : at_(recipe, length, plan),
      runs_(what_runs(recipe, plan, builder.linear_seams())),
      activations_(builder, at_, seed),
      weights_(builder, at_),
      topology_(at_, weights_, seed),
      kept_(at_, weights_),
      health_(at_, weights_, activations_),
      moment_watch_(at_),
      account_(builder, at_, weights_, activations_, sequence),
      parameters_(&builder.parameters()),
      attention_seams_(&builder.attention_seams()),
      sequence_(sequence) {
  require_causal(builder.attention_seams(), recipe);
}

Builder::Options SparsityEngine::asked_of(const RecipeConfig& recipe, Builder::Options options,
                                          const Plan& plan) {
  // Leaves out what only masked execution can do.
  const bool is_fastest = recipe.execution == Execution::kFastest;
  for (std::size_t i = 0; i < recipe.phase.size(); ++i) {
    const PhaseConfig& phase = recipe.phase[i];
    if (phase.wgrad.is_sample()) options.samples_gradients = true;
    if (phase.quantise.format != NumberFormat::kNone && !is_fastest) options.rounds_operands = true;
    const auto& words = phase.layers.empty() ? recipe.layers : phase.layers;
    if (!phase.is_dense() && names_head(words)) options.steers_head = true;
    const ActivationsPart& part = phase.activations;
    if (part.is_dense() || !plan.selects(static_cast<std::int64_t>(i))) continue;
    options.selects_activations = true;
    const bool packs = std::ranges::any_of(plan.layer, &PlanEntry::packs_activations);
    if (packs)
      options.packed_activations = std::max(options.packed_activations, most_selected(part));
  }
  options.packs_samples = options.samples_gradients && recipe.execution != Execution::kMasked;
  options.measures_activations = options.selects_activations || recipe.health.activations;
  return options;
}

void SparsityEngine::before_step(const Context& context, std::int64_t step) {
  if (prepared_ != step) prepare(context, step);
  prepared_ = step;
  if (kept_.arrange(context, updates_topology(step))) ++arrangement_;
  if (activations_.begin_measuring(step, samples(step))) ++arrangement_;
  health_.begin_sample(context, step);
  write_updates();
}

void SparsityEngine::prepare(const Context& context, std::int64_t step) {
  const bool entered = at_.clock().advance_to(step) && !at_.forced_dense();
  const std::int64_t age = step - at_.clock().begin();
  if (entered) {
    enter_phase(context, step);
  } else if (weights_.masks_due(age)) {
    weights_.choose_masks(context, /*counts_flips=*/true);
    weights_.project_all(context);
    weights_.pack_all(context);
  }
  if (activations_.prepare(context, age, entered)) ++arrangement_;
}

void SparsityEngine::enter_phase(const Context& context, std::int64_t step) {
  kept_.end(context);
  weights_.note_new_masks();
  if (phase().weights.is_topology() && !at_.phase_before().weights.is_topology())
    topology_.start(context, step);
  weights_.enter_phase(context);
  moment_watch_.begin_phase();
  weights_.project_all(context);
  point_seams();
  activations_.enter_phase(context);
  weights_.pack_all(context);
  health_.begin_phase();
}

void SparsityEngine::point_seams() {
  ++arrangement_;
  weights_.point_seams();
  const AttentionPart& part = phase().attention;
  for (AttentionSeam& seam : *attention_seams_) {
    seam.pattern = part.mask;
    seam.stride = part.stride > 0 ? part.stride : std::max<std::int64_t>(1, sequence_ / 8);
  }
}

void SparsityEngine::write_updates() {
  for (Parameter& parameter : *parameters_)
    parameter.update = {.freezes_second_moment = freezes_second_moments()};
  weights_.write_pulls();
  kept_.write_entries();
}

bool SparsityEngine::updates_topology(std::int64_t step) const {
  return !at_.forced_dense() && topology_.updates_after(step) && weights_.any_in_scope();
}

void SparsityEngine::update_topology(const Context& context, std::int64_t step) {
  topology_.update(context, step);
  // Masked, new masks lie where the old ones lay; packed, layers get other arrays.
  if (!at_.runs_masked()) ++arrangement_;
}

bool SparsityEngine::freezes_second_moments() const {
  return phase().optimizer.second_moment == SecondMoment::kFrozen;
}

void SparsityEngine::after_update(const Context& context, std::int64_t step) {
  kept_.renew_weights(context);
  if (health_.end_sample(context, step)) {
    at_.force_dense();
    point_seams();
    activations_.enter_phase(context);
  }
  // A mask of every step belongs to the new weights, also for whoever evaluates them now. The next
  // step is the only one that can show its flips.
  weights_.renew_masks(context, /*counts_flips=*/samples(step + 1));
  weights_.project_all(context);
  weights_.pack_all(context);
}

void SparsityEngine::count_step(std::int64_t step, std::int64_t tokens) {
  account_.count(updates_topology(step), tokens);
}

const PhaseRuns* SparsityEngine::runs_of_phase() const {
  const auto found = std::ranges::find(runs_, phase_index(), &PhaseRuns::phase);
  return forced_dense() || found == runs_.end() ? nullptr : &*found;
}

std::int64_t SparsityEngine::num_in_scope() const {
  return std::ranges::count_if(layers(), [&](const SparseLayer& layer) {
    return is_in_scope(*layer.seam, at_.scope_words());
  });
}

std::int64_t SparsityEngine::num_off() const {
  return std::ranges::count_if(layers(), [&](const SparseLayer& layer) {
    return is_in_scope(*layer.seam, at_.scope_words()) && !in_scope(layer);
  });
}

bool SparsityEngine::trains_otherwise() const {
  return !phase().activations.is_dense() || phase().attention.mask != AttentionPattern::kCausal ||
         phase().quantise.format != NumberFormat::kNone;
}

std::vector<StateTensor> SparsityEngine::state_tensors() const {
  std::vector<StateTensor> tensors;
  weights_.save(tensors);
  activations_.save(tensors);
  return tensors;
}

StateTexts SparsityEngine::state_texts() const {
  StateTexts texts{{"prepared", fmt::to_string(prepared_)}};
  at_.save(texts);
  weights_.save(texts);
  topology_.save(texts);
  activations_.save(texts);
  health_.save(texts);
  moment_watch_.save(texts);
  account_.save(texts);
  return texts;
}

void SparsityEngine::restore(const Context& context, const StateTexts& texts) {
  at_.restore(texts);
  prepared_ = static_cast<std::int64_t>(numbers_at(texts, "prepared", 1)[0]);
  weights_.restore(texts);
  topology_.restore(texts);
  health_.restore(texts);
  moment_watch_.restore(texts);
  account_.restore(texts);
  kept_.forget();
  point_seams();
  activations_.restore(context, texts);
  weights_.project_all(context);
  weights_.pack_all(context);
}

}  // namespace twill
