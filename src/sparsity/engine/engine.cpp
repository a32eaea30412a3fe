// SPDX-License-Identifier: Apache-2.0
#include "sparsity/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/require.h"
#include "ops/selection/mask.h"
#include "ops/transfer.h"
#include "ops/update/masked_decay.h"
#include "sparsity/recipe/scope.h"

namespace twill {
namespace {

// A recipe without phases is one dense phase.
RecipeConfig with_phases(RecipeConfig recipe) {
  if (recipe.phase.empty()) recipe.phase.emplace_back();
  return recipe;
}

template <class Predicate>
bool any_phase(const RecipeConfig& recipe, Predicate predicate) {
  return std::ranges::any_of(recipe.phase, predicate);
}

const std::vector<std::string>& words_of(const RecipeConfig& recipe, const PhaseConfig& phase) {
  return phase.layers.empty() ? recipe.layers : phase.layers;
}

bool projects(const PhaseConfig& phase) {
  return !phase.weights.is_dense() && !phase.weights.is_topology();
}

WgradSample sample_of(WgradEstimator estimator) {
  if (estimator == WgradEstimator::kMvue) return WgradSample::kMvue;
  return estimator == WgradEstimator::kMvueTwoDraw ? WgradSample::kMvueTwoDraw
                                                   : WgradSample::kDense;
}

Fp8Mode fp8_of(NumberFormat format) {
  if (format == NumberFormat::kFp8) return Fp8Mode::kMixed;
  return format == NumberFormat::kFp8Reference ? Fp8Mode::kReference : Fp8Mode::kNone;
}

// No mask: dense.
WeightPattern virtual_pattern(VirtualMask mask) {
  if (mask == VirtualMask::k24) return WeightPattern::k24;
  return mask == VirtualMask::kNone ? WeightPattern::kDense : WeightPattern::kTransposable24;
}

bool needs_layers(const RecipeConfig& recipe) {
  return recipe.health.virtual_mask != VirtualMask::kNone ||
         any_phase(recipe, [](const PhaseConfig& phase) { return !phase.is_dense(); });
}

}  // namespace

SparsityEngine::SparsityEngine(Builder& builder, const RecipeConfig& recipe,
                               const RunLength& length, std::int64_t sequence, std::uint64_t seed,
                               const Plan& plan)
    : plan_(plan),
      recipe_(with_phases(plan.execution == Execution::kAuto ? without_masked_parts(recipe, plan)
                                                             : recipe)),
      clock_(recipe_, length),
      topology_(recipe_, clock_, length.steps, seed),
      activations_(builder, recipe_, seed),
      linear_seams_(&builder.linear_seams()),
      attention_seams_(&builder.attention_seams()),
      ffn_seams_(&builder.ffn_seams()),
      sequence_(sequence),
      num_steps_(length.steps) {
  virtual_part_.pattern = virtual_pattern(recipe.health.virtual_mask);
  // Of all query heads together: the inputs of an attention layer's output matrix.
  for (const LinearSeam& seam : *linear_seams_)
    if (seam.family == LayerFamily::kAttention && seam.name.ends_with(".output"))
      attention_width_ = seam.weight->shape[1];
  if (needs_layers(recipe_)) reserve(builder);
}

void SparsityEngine::reserve(Builder& builder) {
  std::vector<std::string> words = recipe_.layers;
  for (const PhaseConfig& phase : recipe_.phase)
    words.insert(words.end(), phase.layers.begin(), phase.layers.end());
  const bool has_mask = any_phase(recipe_, [](const auto& p) { return !p.weights.is_dense(); });
  const bool has_projection = any_phase(recipe_, projects);
  const bool has_topology =
      any_phase(recipe_, [](const auto& p) { return p.weights.is_topology(); });
  const bool compares = recipe_.health.every > 0 && (has_mask || !virtual_part_.is_dense());
  std::int64_t largest = 0;
  for (LinearSeam* seam : layers_in_scope(builder, words)) {
    check_layer(*seam);
    SparseLayer& layer = layers_.emplace_back();
    layer.seam = seam;
    const Shape& shape = seam->weight->shape;
    if (has_mask) builder.sparsity_state(layer.mask, DType::kU8, shape);
    layer.is_unpacked = has_projection && is_always_packed(builder, layer);
    if (layer.is_unpacked)
      builder.scratch_of("sparsity.projected", layer.projected, builder.options().dtype, shape);
    else if (has_projection)
      builder.sparsity_state(layer.projected, builder.options().dtype, shape);
    if (has_topology) builder.sparsity_state(layer.grown, DType::kU8, shape);
    if (compares) builder.sparsity_state(layer.before, DType::kU8, shape);
    largest = std::max(largest, layer.num_weights());
  }
  check_globs();
  if (compares) builder.sparsity_state(after_, DType::kU8, {largest});
  builder.sparsity_state(sums_, DType::kF64, {5});
  interval_flips_.assign(layers_.size(), 0.0);
  reserve_packed(builder);
}

void SparsityEngine::check_layer(const LinearSeam& seam) const {
  if (!virtual_part_.is_dense()) require_divisible(virtual_part_, seam);
  for (const PhaseConfig& phase : recipe_.phase) {
    if (!is_in_scope(seam, words_of(recipe_, phase))) continue;
    require_divisible(phase.weights, seam);
    const bool plain = phase.weights.is_topology() && phase.quantise.format == NumberFormat::kNone;
    require(
        seam.family != LayerFamily::kHead || plain || phase.is_dense(),
        "recipe: the head takes a kept topology or stays dense, but weights.pattern = \"{}\" and "
        "quantise.format = \"{}\" have it in scope; leave \"head\" out of the layers",
        word_of(phase.weights.pattern), word_of(phase.quantise.format));
  }
}

// A misspelt glob would leave a product dense without a word.
void SparsityEngine::check_globs() const {
  for (const PhaseConfig& phase : recipe_.phase) {
    if (!projects(phase)) continue;
    for (const auto* globs : {&phase.weights.forward, &phase.weights.dgrad})
      for (const std::string& glob : *globs)
        require(std::ranges::any_of(layers_,
                                    [&](const SparseLayer& layer) {
                                      return is_in_scope(*layer.seam, words_of(recipe_, phase)) &&
                                             matches_any({glob}, layer.seam->name);
                                    }),
                "recipe: weights.{} = \"{}\" matches no layer in scope; expected globs over names "
                "like {}",
                globs == &phase.weights.forward ? "forward" : "dgrad", glob,
                layers_.front().seam->name);
  }
}

const PhaseConfig& SparsityEngine::phase() const {
  if (forced_dense_ || clock_.index() < 0) return dense_phase_;
  return recipe_.phase[static_cast<std::size_t>(clock_.index())];
}

const std::vector<std::string>& SparsityEngine::scope_words() const {
  return words_of(recipe_, phase());
}

bool SparsityEngine::in_scope(const SparseLayer& layer) const {
  return is_in_scope(*layer.seam, scope_words()) && plan_.is_on(clock_.index(), *layer.seam);
}

std::vector<SparseLayer*> SparsityEngine::scoped() {
  std::vector<SparseLayer*> layers;
  for (SparseLayer& layer : layers_)
    if (in_scope(layer)) layers.push_back(&layer);
  return layers;
}

// A soft projection needs a mask for its decay alone.
bool SparsityEngine::keeps_mask() const {
  const PhaseConfig& now = phase();
  return projects(now) && (!now.weights.is_soft() || now.decay.on != DecayOn::kNone);
}

bool SparsityEngine::projects_weights() const { return projects(phase()) && any_in_scope(); }

bool SparsityEngine::any_in_scope() const {
  return std::ranges::any_of(layers_, [&](const SparseLayer& layer) { return in_scope(layer); });
}

bool SparsityEngine::trains_otherwise() const {
  return !phase().activations.is_dense() || phase().attention.mask != AttentionPattern::kCausal ||
         phase().quantise.format != NumberFormat::kNone;
}

void SparsityEngine::before_step(const Context& context, std::int64_t step) {
  sample_.reset();
  if (prepared_ != step) prepare(context, step);
  prepared_ = step;
  arrange_kept(context, step);
  for (FfnSeam& seam : *ffn_seams_)
    seam.measures = seam.nonzero && (samples(step) || measure_due(step + 1));
  if (samples(step)) begin_sample(context);
}

void SparsityEngine::prepare(const Context& context, std::int64_t step) {
  const bool entered = clock_.advance_to(step) && !forced_dense_;
  const PhaseConfig& now = phase();
  const std::int64_t age = step - clock_.begin();
  if (entered) {
    enter_phase(context, step);
  } else if (keeps_mask() && now.weights.refresh > 1 && age % now.weights.refresh == 0) {
    refresh_masks(context, /*counts_flips=*/true);
    project_all(context);
    pack_all(context);
  }
  if (activations_.exists() && !now.activations.is_dense() && (entered || cluster_due(age)))
    activations_.refresh(context, now.activations, layers_that_are_on());
  point_packed_activations();
}

// The dense share needs a measurement, which a phase at the start of a run has only behind its first
// step.
bool SparsityEngine::cluster_due(std::int64_t age) const {
  return age % phase().activations.refresh == 0 ||
         (age == 1 && phase().activations.dense_share > 0 && !activations_.has_dense());
}

bool SparsityEngine::measure_due(std::int64_t step) const {
  if (!activations_.exists() || forced_dense_) return false;
  const std::int64_t index = clock_.phase_at(step);
  const ActivationsPart& part = recipe_.phase[static_cast<std::size_t>(index)].activations;
  const std::int64_t age = step - clock_.begin_of(index);
  return part.dense_share > 0.0 && (age % part.refresh == 0 || age == 1);
}

void SparsityEngine::enter_phase(const Context& context, std::int64_t step) {
  end_kept(context);
  masks_changed_ = true;  // also where a first topology is drawn
  const PhaseConfig& now = phase();
  const std::int64_t index = clock_.index();
  const PhaseConfig& before =
      index > 0 ? recipe_.phase[static_cast<std::size_t>(index - 1)] : dense_phase_;
  if (now.weights.is_topology() && !before.weights.is_topology())
    topology_.start(context, scoped(), step, moments_);
  // A scale is frozen for as long as soft phases of a layer follow one another.
  if (now.weights.is_soft())
    for (SparseLayer* layer : scoped())
      if (!before.weights.is_soft() || !is_in_scope(*layer->seam, words_of(recipe_, before)) ||
          !plan_.is_on(index - 1, *layer->seam))
        layer->beta = soft_scale(context, now.weights, *layer, sums_.slice(0, 4));
  if (keeps_mask()) refresh_masks(context, /*counts_flips=*/false);
  std::ranges::fill(interval_flips_, 0.0);
  moment_changes_.clear();
  project_all(context);
  point_seams();
  if (activations_.exists()) activations_.enter(context, now.activations, layers_that_are_on());
  point_packed_activations();
  pack_all(context);
  alarm_.begin_phase(clock_.begin(), clock_.end());
}

void SparsityEngine::point_seams() {
  ++arrangement_;
  const PhaseConfig& now = phase();
  for (SparseLayer& layer : layers_) {
    LinearSeam& seam = *layer.seam;
    seam.unpacked = layer.is_unpacked ? layer.projected : View();
    const bool scope = in_scope(layer);
    const bool projected = scope && projects(now);
    seam.forward =
        projected && matches_any(now.weights.forward, seam.name) ? layer.projected : ConstView();
    seam.dgrad =
        projected && matches_any(now.weights.dgrad, seam.name) ? layer.projected : ConstView();
    // Where the plan has measured, a sample is drawn only for a product that gains by it.
    const bool packs = scope && entry_of(layer).wgrad_below > 0.0;
    const bool samples = scope && (packs || plan_.execution != Execution::kAuto);
    seam.wgrad = samples ? sample_of(now.wgrad.estimator) : WgradSample::kDense;
    seam.packs_sample = packs && seam.wgrad != WgradSample::kDense;
    seam.fp8 = scope ? fp8_of(now.quantise.format) : Fp8Mode::kNone;
  }
  for (AttentionSeam& seam : *attention_seams_) {
    seam.pattern = now.attention.mask;
    seam.stride =
        now.attention.stride > 0 ? now.attention.stride : std::max<std::int64_t>(1, sequence_ / 8);
  }
}

void SparsityEngine::set_scales(const Context& context) {
  for (SparseLayer* layer : scoped())
    layer->beta = soft_scale(context, phase().weights, *layer, sums_.slice(0, 4));
}

void SparsityEngine::refresh_masks(const Context& context, bool counts_flips) {
  masks_changed_ = true;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    SparseLayer& layer = layers_[i];
    if (!in_scope(layer)) continue;
    if (!after_ || !counts_flips) {
      choose_mask(context, phase().weights, *layer.seam, layer.weight(), layer.mask);
      continue;
    }
    const View fresh = after_.slice(0, layer.num_weights()).reshaped(layer.mask.shape());
    choose_mask(context, phase().weights, *layer.seam, layer.weight(), fresh);
    interval_flips_[i] = difference(context, fresh, layer.mask);
    copy(context, layer.mask, fresh);
  }
}

void SparsityEngine::project_all(const Context& context) {
  if (!projects(phase())) return;
  if (phase().weights.scale == SoftScale::kRecomputed && phase().weights.is_soft())
    set_scales(context);
  if (phase().weights.is_soft() && plan_.execution != Execution::kMasked)
    return;  // pack_all does it
  for (SparseLayer* layer : scoped())
    if (!layer->is_unpacked) project(context, phase().weights, *layer);
}

void SparsityEngine::after_backward(const Context& context, std::int64_t step) {
  // The passes of an evaluation that follows are none of the training's.
  for (FfnSeam& seam : *ffn_seams_) seam.measures = false;
  if (!phase().weights.is_topology() || updates_topology(step)) return;
  mask_gradients(context);
}

void SparsityEngine::mask_gradients(const Context& context) {
  for (const SparseLayer* layer : scoped()) {
    if (layer->packed.is_kept()) {
      layer->packed.add_shared_gradient(context, *layer);
      continue;
    }
    const View gradient = layer->seam->weight->gradient;
    apply_mask(context, {.x = gradient, .mask = layer->mask, .y = gradient});
  }
}

bool SparsityEngine::updates_topology(std::int64_t step) const {
  return !forced_dense_ && topology_.updates_after(step) && any_in_scope();
}

void SparsityEngine::update_topology(const Context& context, std::int64_t step) {
  for (std::size_t i = 0; i < layers_.size() && after_; ++i)
    copy(context, layers_[i].before, layers_[i].mask);
  topology_.update(context, scoped(), step, moments_);
  masks_changed_ = true;
  for (std::size_t i = 0; i < layers_.size() && after_; ++i)
    interval_flips_[i] = difference(context, layers_[i].before, layers_[i].mask);
  if (!skips_optimizer()) mask_gradients(context);
}

void SparsityEngine::before_update(const Context& context, double clip_scale,
                                   const std::function<double(const Parameter&)>& lr_of) {
  const DecayPart& decay = phase().decay;
  if (decay.on == DecayOn::kNone) return;
  for (const SparseLayer* layer : scoped()) {
    Parameter& weight = *layer->seam->weight;
    const bool on_gradients = decay.on == DecayOn::kGradients;
    masked_decay(context, {.target = on_gradients ? weight.gradient : weight.value,
                           .weight = weight.value,
                           .mask = layer->mask,
                           .scale = on_gradients ? clip_scale : 1.0,
                           .rate = on_gradients ? decay.lambda : -lr_of(weight) * decay.lambda});
  }
}

bool SparsityEngine::is_scaled(const Parameter& parameter) const {
  if (phase().decay.on != DecayOn::kGradients) return false;
  return std::ranges::any_of(layers_, [&](const SparseLayer& layer) {
    return layer.seam->weight == &parameter && in_scope(layer);
  });
}

bool SparsityEngine::freezes_second_moments() const {
  return phase().optimizer.second_moment == SecondMoment::kFrozen;
}

void SparsityEngine::after_update(const Context& context, std::int64_t step) {
  const PhaseConfig& now = phase();
  if (now.weights.is_topology()) {
    for (const SparseLayer* layer : scoped()) {
      if (layer->packed.is_kept()) {
        layer->packed.write_weight(context, *layer);
      } else {
        hide_weights(context, *layer);
      }
    }
  }
  if (samples(step)) end_sample(context, step);
  // A mask of every step belongs to the new weights, also for whoever evaluates them now. The next
  // step is the only one that can show its flips.
  if (keeps_mask() && (now.weights.refresh == 1 || now.weights.is_soft()))
    refresh_masks(context, /*counts_flips=*/samples(step + 1));
  project_all(context);
  pack_all(context);
}

bool SparsityEngine::watches_moments() const {
  return phase().early_end.when == EarlyEnd::kSecondMomentSettled;
}

void SparsityEngine::observe_moment_change(std::int64_t step, double mean_change, double beta2) {
  const auto window = static_cast<std::size_t>(std::ceil(1.0 / (1.0 - beta2) - 1e-9));
  moment_changes_.push_back(mean_change);
  if (moment_changes_.size() > window) moment_changes_.erase(moment_changes_.begin());
  if (moment_changes_.size() < window) return;
  const EarlyEndPart& rule = phase().early_end;
  const double mean = std::accumulate(moment_changes_.begin(), moment_changes_.end(), 0.0) /
                      static_cast<double>(window);
  const double first = rule.after * static_cast<double>(num_steps_);
  const bool settled = mean < rule.below;
  const bool allowed = first < static_cast<double>(step + 1);
  if (settled && allowed) clock_.end_early(step + 1);
}

}  // namespace twill
