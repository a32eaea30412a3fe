// SPDX-License-Identifier: Apache-2.0
#include "sparsity/activations/activation_steering.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/require.h"
#include "ops/numbers/cast.h"
#include "ops/transfer.h"
#include "sparsity/activations/feature_split.h"
#include "sparsity/activations/neuron_clusters.h"
#include "sparsity/activations/token_order.h"
#include "sparsity/recipe/scope.h"

namespace twill {
namespace {

constexpr std::int64_t kMaxClusters = 32;  // m is at most 128

TokenOrder order_of(BlockOrder order) {
  switch (order) {
    case BlockOrder::kFixed:
      return TokenOrder::kFixed;
    case BlockOrder::kCentroid:
      return TokenOrder::kCentroid;
    case BlockOrder::kEnergy:
      return TokenOrder::kEnergy;
    case BlockOrder::kAsIs:
      break;
  }
  return TokenOrder::kAsIs;
}

// To the front of the view.
template <class T>
void copy_to(const Context& context, View view, const std::vector<T>& values) {
  copy_in(context, view.slice(0, static_cast<std::int64_t>(values.size())), values.data());
}

void require_plain(const FfnSeam& seam, const ActivationsPart& part) {
  require(!is_gated(seam.activation),
          "recipe: activations.pattern = \"{}\" needs an FFN of two matrices, but {} is gated; set "
          "model.ffn.activation=relu2",
          word_of(part.pattern), seam.name);
  const std::int64_t m = part.window();
  require(
      seam.hidden % m == 0,
      "recipe: activations.pattern = \"{}\" needs the hidden width of {} to be a multiple of {}, "
      "got {}",
      word_of(part.pattern), seam.name, m, seam.hidden);
}

// As the products of the model take them.
ConstView centroids_of(const Context& context, const SteeredFfn& ffn) {
  if (ffn.num_clusters == 0) return {};
  const View known = ffn.centroids.row_range(0, ffn.num_clusters);
  if (!ffn.centroid_operand) return known;
  const View operand = ffn.centroid_operand.row_range(0, ffn.num_clusters);
  cast(context, {.x = known, .y = operand});
  return operand;
}

double share_of_dense(const Context& context, const SteeredFfn& ffn) {
  if (!ffn.has_dense) return 0.0;
  const auto dense = host_values<std::uint8_t>(context, ffn.dense_neurons);
  return static_cast<double>(std::ranges::count(dense, std::uint8_t{1})) /
         static_cast<double>(dense.size());
}

// A matrix of the FFN, among the layers in scope.
LinearSeam* matrix_of(const FfnSeam& ffn, const char* which,
                      const std::vector<LinearSeam*>& layers) {
  for (LinearSeam* layer : layers)
    if (layer->name == ffn.name + which) return layer;
  return nullptr;
}

}  // namespace

void set_selection(FfnSeam& seam, const ActivationsPart& part) {
  seam.v = part.pattern == ActivationPattern::k24 ? 1 : part.v;
  seam.m = part.window();
  seam.order = order_of(part.order);
  seam.transposed_v = part.transposed == TransposedPattern::kVenom ? part.v : 1;
  seam.transposed_m = part.transposed == TransposedPattern::kNone ? 0
                      : part.transposed == TransposedPattern::k24 ? 4
                                                                  : part.m;
  seam.dense_forward = part.dense_in == DenseIn::kAll;
}

double selected_share(std::int64_t m, double dense) {
  return dense + (1.0 - dense) * 2.0 / static_cast<double>(m);
}

double most_selected(const ActivationsPart& part) {
  const double dense = part.dense_in == DenseIn::kAll ? part.dense_share : 0.0;
  return std::min(1.0, dense + 2.0 / static_cast<double>(part.window()));
}

ActivationSteering::ActivationSteering(Builder& builder, const RunPosition& at, std::uint64_t seed)
    : at_(at), seams_(&builder.ffn_seams()), seed_(seed) {
  const RecipeConfig& recipe = at.recipe();
  const auto selects = [](const PhaseConfig& phase) { return !phase.activations.is_dense(); };
  const auto first = std::ranges::find_if(recipe.phase, selects);
  if (first == recipe.phase.end()) return;
  std::vector<std::string> words;
  for (const PhaseConfig& phase : recipe.phase)
    if (selects(phase)) {
      const auto& of_phase = at.words_of(phase);
      words.insert(words.end(), of_phase.begin(), of_phase.end());
    }
  const std::vector<LinearSeam*> layers = layers_in_scope(builder, words);
  for (FfnSeam& seam : builder.ffn_seams()) {
    LinearSeam* input = matrix_of(seam, ".input", layers);
    LinearSeam* output = matrix_of(seam, ".output", layers);
    if (input == nullptr || output == nullptr) continue;
    for (const PhaseConfig& phase : recipe.phase)
      if (selects(phase)) require_plain(seam, phase.activations);
    SteeredFfn& ffn = ffns_.emplace_back();
    ffn.seam = &seam;
    ffn.input = input;
    ffn.output = output;
    ffn.stream = input->stream;
    builder.sparsity_state(ffn.neuron_order, DType::kI32, {seam.hidden});
    builder.sparsity_state(ffn.clusters, DType::kI32, {seam.hidden});
    builder.sparsity_state(ffn.centroids, DType::kF32, {kMaxClusters, seam.width});
    if (builder.options().dtype != DType::kF32)
      builder.sparsity_state(ffn.centroid_operand, builder.options().dtype,
                             {kMaxClusters, seam.width});
    builder.sparsity_state(ffn.dense_neurons, DType::kU8, {seam.hidden});
    builder.sparsity_state(ffn.fixed_order, DType::kI32, {builder.max_tokens()});
  }
  require(!ffns_.empty(),
          "recipe: activations.pattern = \"{}\" needs an FFN in scope, but recipe.layers has none",
          word_of(first->activations.pattern));
}

void ActivationSteering::enter_phase(const Context& context) {
  for (SteeredFfn& ffn : ffns_) {
    ffn.num_clusters = 0;
    ffn.has_dense = false;
    if (at_.phase().activations.order == BlockOrder::kFixed)
      copy_to(context, ffn.fixed_order,
              random_token_order(ffn.fixed_order.num_elements(), seed_, ffn.stream));
  }
  apply(context);
}

// The dense share needs a measurement, which a phase at the start of a run has only behind its first
// step.
bool ActivationSteering::is_due(std::int64_t age) const {
  const ActivationsPart& part = at_.phase().activations;
  return age % part.refresh == 0 || (age == 1 && part.dense_share > 0 && !ffns_.front().has_dense);
}

bool ActivationSteering::prepare(const Context& context, std::int64_t age, bool entered) {
  const bool refreshes =
      exists() && !at_.phase().activations.is_dense() && (entered || is_due(age));
  if (refreshes) refresh(context);
  return refreshes;
}

void ActivationSteering::refresh(const Context& context) {
  const ActivationsPart& part = at_.phase().activations;
  for (SteeredFfn& ffn : ffns_) {
    if (part.clusters) cluster(context, ffn, part);
    if (part.dense_share > 0.0 && ffn.seam->measured_tokens > 0) choose_dense(context, ffn, part);
    order_neurons(context, ffn, part);
  }
  apply(context);
}

bool ActivationSteering::is_measured_for(std::int64_t step) const {
  if (!exists() || at_.forced_dense()) return false;
  const std::int64_t index = at_.clock().phase_at(step);
  const ActivationsPart& part = at_.recipe().phase[static_cast<std::size_t>(index)].activations;
  const std::int64_t age = step - at_.clock().begin_of(index);
  return part.dense_share > 0.0 && (age % part.refresh == 0 || age == 1);
}

bool ActivationSteering::begin_measuring(std::int64_t step, bool samples) {
  const bool before = std::exchange(measures_, samples || is_measured_for(step + 1));
  bool any = false;
  for (FfnSeam& seam : *seams_) {
    seam.measures = seam.nonzero && measures_;
    any |= static_cast<bool>(seam.nonzero);
  }
  return any && before != measures_;
}

// The passes of an evaluation that follows are none of the training's.
void ActivationSteering::end_measuring() {
  for (FfnSeam& seam : *seams_) seam.measures = false;
}

void ActivationSteering::cluster(const Context& context, SteeredFfn& ffn,
                                 const ActivationsPart& part) const {
  const std::int64_t count = part.m / 4;
  const std::vector<float> known = host_values<float>(context, ffn.centroids.row_range(0, count));
  const HostCopy weight(context, ffn.input->weight->value);
  const NeuronClusters found = cluster_neurons(
      weight.view(), {.num_clusters = count,
                      .seed = seed_,
                      .layer = ffn.stream,
                      .centroids = ffn.num_clusters == count ? std::span<const float>(known)
                                                             : std::span<const float>()});
  copy_to(context, ffn.clusters, found.cluster);
  copy_to(context, ffn.centroids, found.centroids);
  ffn.num_clusters = count;
}

void ActivationSteering::choose_dense(const Context& context, SteeredFfn& ffn,
                                      const ActivationsPart& part) const {
  const std::int64_t hidden = ffn.seam->hidden, m = part.window();
  const std::vector<std::int32_t> counts = host_values<std::int32_t>(context, ffn.seam->nonzero);
  const std::int64_t wanted = std::llround(part.dense_share * static_cast<double>(hidden));
  // Whole windows of sparse neurons are left, so that none mixes both kinds.
  const std::int64_t dense =
      part.dense_in == DenseIn::kAll ? hidden - (hidden - wanted) / m * m : wanted;
  // Half a neuron less than the exact share: it is rounded up.
  copy_to(context, ffn.dense_neurons,
          dense_neurons(counts, (static_cast<double>(dense) - 0.5) / static_cast<double>(hidden)));
  ffn.has_dense = true;
}

// Sparse neurons interleaved by cluster; dense ones behind them.
void ActivationSteering::order_neurons(const Context& context, SteeredFfn& ffn,
                                       const ActivationsPart& part) const {
  const auto hidden = static_cast<std::size_t>(ffn.seam->hidden);
  const bool apart = ffn.has_dense && part.dense_in == DenseIn::kAll;
  const std::vector<std::uint8_t> dense = host_values<std::uint8_t>(context, ffn.dense_neurons);
  const std::vector<std::int32_t> cluster_of = host_values<std::int32_t>(context, ffn.clusters);
  std::vector<std::int32_t> order, behind, clusters;
  for (std::size_t i = 0; i < hidden; ++i)
    (apart && dense[i] != 0 ? behind : order).push_back(static_cast<std::int32_t>(i));
  if (ffn.num_clusters > 0) {
    for (const std::int32_t i : order) clusters.push_back(cluster_of[static_cast<std::size_t>(i)]);
    const std::vector<std::int32_t> sparse = order;
    std::ranges::transform(
        interleaved_order(clusters, ffn.num_clusters), order.begin(),
        [&](std::int32_t place) { return sparse[static_cast<std::size_t>(place)]; });
  }
  order.insert(order.end(), behind.begin(), behind.end());
  copy_to(context, ffn.neuron_order, order);
}

void ActivationSteering::apply(const Context& context) {
  const ActivationsPart& part = at_.phase().activations;
  for (SteeredFfn& ffn : ffns_) {
    FfnSeam& seam = *ffn.seam;
    seam.selects = !part.is_dense() && at_.in_scope(*ffn.input) && at_.in_scope(*ffn.output);
    set_selection(seam, part);
    seam.fixed_order = part.order == BlockOrder::kFixed ? ffn.fixed_order : ConstView();
    const bool ordered = ffn.num_clusters > 0 || (ffn.has_dense && part.dense_in == DenseIn::kAll);
    seam.neuron_order = ordered ? ffn.neuron_order : ConstView();
    seam.clusters = ffn.clusters;
    seam.centroids = centroids_of(context, ffn);
    seam.dense_neurons = ffn.has_dense ? ffn.dense_neurons : ConstView();
    ffn.dense_share = share_of_dense(context, ffn);
    // Without clusters there is nothing to sort by yet.
    if (ffn.num_clusters == 0 && seam.order != TokenOrder::kFixed) seam.order = TokenOrder::kAsIs;
  }
  point_packed();
}

void ActivationSteering::point_packed() const {
  const Plan& plan = at_.plan();
  for (const SteeredFfn& ffn : ffns_) {
    const FfnSeam& seam = *ffn.seam;
    const PlanEntry* input = plan.find(at_.clock().index(), *ffn.input);
    const PlanEntry* output = plan.find(at_.clock().index(), *ffn.output);
    ffn.input->route.drop_activations();
    ffn.output->route.drop_activations();
    if (!seam.selects || input == nullptr || output == nullptr) continue;
    const double kept = selected_share(seam.m, seam.dense_forward ? ffn.dense_share : 0.0);
    const double in_wgrad = seam.transposed_m > 0
                                ? std::min(kept, selected_share(seam.transposed_m, ffn.dense_share))
                                : kept;
    ffn.output->route.forward.activations = output->forward_selected ? kept : 0.0;
    ffn.output->route.wgrad.activations = output->wgrad_selected ? in_wgrad : 0.0;
    ffn.input->route.dgrad.activations = input->dgrad_selected ? kept : 0.0;
    ffn.input->route.wgrad.activations = input->wgrad_selected ? in_wgrad : 0.0;
  }
}

void ActivationSteering::save(std::vector<StateTensor>& tensors) const {
  for (const SteeredFfn& ffn : ffns_) {
    const std::string& name = ffn.seam->name;
    for (const StateTensor& one : {StateTensor{name + ".neuron_order", ffn.neuron_order},
                                   StateTensor{name + ".clusters", ffn.clusters},
                                   StateTensor{name + ".centroids", ffn.centroids},
                                   StateTensor{name + ".dense_neurons", ffn.dense_neurons},
                                   StateTensor{name + ".fixed_order", ffn.fixed_order},
                                   StateTensor{name + ".nonzero", ffn.seam->nonzero}})
      if (one.view) tensors.push_back(one);
  }
}

void ActivationSteering::save(StateTexts& texts) const {
  std::vector<double> numbers;
  for (const SteeredFfn& ffn : ffns_)
    for (const std::int64_t value :
         {ffn.num_clusters, std::int64_t{ffn.has_dense}, ffn.seam->measured_tokens})
      numbers.push_back(static_cast<double>(value));
  texts["ffns"] = text_of(numbers);
}

void ActivationSteering::restore(const Context& context, const StateTexts& texts) {
  const std::vector<double> numbers = numbers_at(texts, "ffns", 3 * ffns_.size());
  for (std::size_t i = 0; i < ffns_.size(); ++i) {
    ffns_[i].num_clusters = static_cast<std::int64_t>(numbers[3 * i]);
    ffns_[i].has_dense = numbers[3 * i + 1] != 0.0;
    ffns_[i].seam->measured_tokens = static_cast<std::int64_t>(numbers[3 * i + 2]);
  }
  apply(context);
}

}  // namespace twill
