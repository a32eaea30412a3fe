// SPDX-License-Identifier: Apache-2.0
// Samples of a run's health. A sampled step compares the mask of the weights before it with the mask
// behind it: two selections and one sum per layer, every 40 steps well below 1 % of the time.
#include "base/log.h"
#include "base/require.h"
#include "ops/selection/mask.h"
#include "ops/transfer.h"
#include "sparsity/engine/engine.h"

namespace twill {
namespace {

double share(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

FfnHealth sample_ffn(const Context& context, const FfnSeam& seam) {
  FfnHealth health{.name = seam.name};
  double fired = 0.0, dead = 0.0;
  for (const std::int32_t count : host_values<std::int32_t>(context, seam.nonzero)) {
    fired += count;
    dead += count == 0;
  }
  const auto hidden = static_cast<double>(seam.hidden);
  health.activation_density = share(fired, hidden * static_cast<double>(seam.measured_tokens));
  health.dead_neurons = dead / hidden;
  if (!seam.selects) return health;
  const std::vector<double> mass = host_values<double>(context, seam.mass);
  health.dropped_columns = share(mass[0] - mass[1], mass[0]);
  health.dropped_rows = share(mass[1] - mass[2], mass[0]);
  if (seam.transposed_m == 0) return health;
  const std::vector<double> transposed = host_values<double>(context, seam.transposed_mass);
  health.dropped_transposed = share(transposed[0] - transposed[2], transposed[0]);
  health.dropped_gradient = share(transposed[3] - transposed[5], transposed[3]);
  return health;
}

FfnHealth mean_of(const std::vector<FfnHealth>& ffns) {
  FfnHealth mean{.name = "all", .activation_density = 0.0};
  const double weight = ffns.empty() ? 0.0 : 1.0 / static_cast<double>(ffns.size());
  for (const FfnHealth& ffn : ffns) {
    mean.activation_density += weight * ffn.activation_density;
    mean.dead_neurons += weight * ffn.dead_neurons;
    mean.dropped_columns += weight * ffn.dropped_columns;
    mean.dropped_rows += weight * ffn.dropped_rows;
    mean.dropped_transposed += weight * ffn.dropped_transposed;
    mean.dropped_gradient += weight * ffn.dropped_gradient;
  }
  return mean;
}

// Adds `layer` with the weight of its size.
void add(LayerHealth& sum, const LayerHealth& layer, double weight) {
  sum.flip_rate += weight * layer.flip_rate;
  sum.interval_flip_rate += weight * layer.interval_flip_rate;
  sum.kept_l1 += weight * layer.kept_l1;
  sum.kept_energy += weight * layer.kept_energy;
  sum.density += weight * layer.density;
  sum.beta += weight * layer.beta;
}

}  // namespace

bool SparsityEngine::samples(std::int64_t step) const {
  const bool something = !layers_.empty() || activations_.exists() || recipe_.health.activations;
  return something && recipe_.health.every > 0 && step % recipe_.health.every == 0;
}

const WeightsPart& SparsityEngine::sampled_part() const {
  return phase().weights.is_dense() && !virtual_part_.is_dense() ? virtual_part_ : phase().weights;
}

double SparsityEngine::difference(const Context& context, ConstView a, ConstView b) const {
  const View count = sums_.slice(0, 1);
  mask_difference(context, {.a = a, .b = b, .count = count});
  return share(host_values<double>(context, count)[0], static_cast<double>(a.num_elements()));
}

void SparsityEngine::current_mask(const Context& context, const SparseLayer& layer,
                                  View mask) const {
  if (sampled_part().is_topology()) {
    copy(context, mask, layer.mask);
  } else {
    choose_mask(context, sampled_part(), *layer.seam, layer.weight(), mask);
  }
}

void SparsityEngine::begin_sample(const Context& context) {
  sample_.emplace();
  if (sampled_part().is_dense() || !after_ || !any_in_scope()) return;
  sample_->has_mask = true;
  sample_->is_topology = sampled_part().is_topology();
  for (const SparseLayer& layer : layers_)
    if (in_scope(layer)) current_mask(context, layer, layer.before);
}

LayerHealth SparsityEngine::sample_layer(const Context& context, std::size_t index) const {
  const SparseLayer& layer = layers_[index];
  const View mask = after_.slice(0, layer.num_weights()).reshaped(layer.before.shape());
  current_mask(context, layer, mask);
  LayerHealth health{.name = layer.seam->name};
  health.flip_rate = difference(context, layer.before, mask);
  health.interval_flip_rate = interval_flips_[index];
  mask_mass(context, {.x = layer.weight(), .mask = mask, .sums = sums_});
  const std::vector<double> sums = host_values<double>(context, sums_);
  health.kept_l1 = share(sums[2], sums[0]);
  health.kept_energy = share(sums[3], sums[1]);
  health.density = share(sums[4], static_cast<double>(layer.num_weights()));
  health.beta = layer.beta;
  return health;
}

void SparsityEngine::end_sample(const Context& context, std::int64_t step) {
  if (!sample_) return;
  sample_->step = step + 1;
  LayerHealth& overall = sample_->overall;
  overall = {.name = "all", .kept_l1 = 0.0, .kept_energy = 0.0, .density = 0.0, .beta = 0.0};
  double total = 0.0;
  for (const SparseLayer& layer : layers_)
    if (in_scope(layer)) total += static_cast<double>(layer.num_weights());
  for (std::size_t i = 0; i < layers_.size() && sample_->has_mask; ++i) {
    if (!in_scope(layers_[i])) continue;
    sample_->layers.push_back(sample_layer(context, i));
    add(overall, sample_->layers.back(),
        share(static_cast<double>(layers_[i].num_weights()), total));
  }
  for (const FfnSeam& seam : *ffn_seams_)
    if (seam.nonzero) sample_->ffns.push_back(sample_ffn(context, seam));
  sample_->overall_ffn = mean_of(sample_->ffns);
  if (sample_->has_mask && projects_weights()) {
    sample_->alarm = alarm_.observe(step, overall.flip_rate);
    if (!sample_->alarm.empty()) raise_alarm(context);
  }
}

void SparsityEngine::raise_alarm(const Context& context) {
  const bool leaves = recipe_.on_alarm == OnAlarm::kDense;
  log_warning(
      fmt::format("step {}: {}{}", sample_->step, sample_->alarm,
                  leaves ? "; recipe.on_alarm = \"dense\": the rest of the run is dense" : ""));
  if (!leaves) return;
  forced_dense_ = true;
  point_seams();
  if (activations_.exists()) activations_.enter(context, phase().activations, layers_that_are_on());
  point_packed_activations();
}

std::optional<HealthSample> SparsityEngine::take_sample() {
  if (!sample_ || sample_->step == 0) return std::nullopt;
  std::optional<HealthSample> taken = std::move(sample_);
  sample_.reset();
  return taken;
}

}  // namespace twill
