// SPDX-License-Identifier: Apache-2.0
#include "sparsity/account/health_watch.h"

#include <utility>

#include "base/log.h"
#include "base/require.h"
#include "ops/selection/mask.h"
#include "ops/transfer.h"

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

bool HealthWatch::samples(std::int64_t step) const {
  const HealthConfig& health = at_.recipe().health;
  const bool something = !weights_.layers().empty() || activations_.exists() || health.activations;
  return something && health.every > 0 && step % health.every == 0;
}

const WeightsPart& HealthWatch::sampled_part() const {
  const WeightsPart& part = at_.phase().weights;
  return part.is_dense() && !at_.virtual_part().is_dense() ? at_.virtual_part() : part;
}

void HealthWatch::current_mask(const Context& context, const SparseLayer& layer, View mask) const {
  if (sampled_part().is_topology()) {
    copy(context, mask, layer.mask);
  } else {
    choose_mask(context, sampled_part(), *layer.seam, layer.weight(), mask);
  }
}

void HealthWatch::begin_sample(const Context& context, std::int64_t step) {
  sample_.reset();
  if (!samples(step)) return;
  sample_.emplace();
  if (sampled_part().is_dense() || !weights_.compares_masks() || !weights_.any_in_scope()) return;
  sample_->has_mask = true;
  sample_->is_topology = sampled_part().is_topology();
  for (const SparseLayer& layer : weights_.layers())
    if (weights_.in_scope(layer)) current_mask(context, layer, layer.before);
}

LayerHealth HealthWatch::sample_layer(const Context& context, const SparseLayer& layer) const {
  const View mask = weights_.other_mask(layer);
  current_mask(context, layer, mask);
  LayerHealth health{.name = layer.seam->name};
  health.flip_rate = weights_.difference(context, layer.before, mask);
  health.interval_flip_rate = layer.interval_flips;
  mask_mass(context, {.x = layer.weight(), .mask = mask, .sums = weights_.sums()});
  const std::vector<double> sums = host_values<double>(context, weights_.sums());
  health.kept_l1 = share(sums[2], sums[0]);
  health.kept_energy = share(sums[3], sums[1]);
  health.density = share(sums[4], static_cast<double>(layer.num_weights()));
  health.beta = layer.beta;
  return health;
}

void HealthWatch::sample_layers(const Context& context) {
  LayerHealth& overall = sample_->overall;
  overall = {.name = "all", .kept_l1 = 0.0, .kept_energy = 0.0, .density = 0.0, .beta = 0.0};
  double total = 0.0;
  for (const SparseLayer& layer : weights_.layers())
    if (weights_.in_scope(layer)) total += static_cast<double>(layer.num_weights());
  for (const SparseLayer& layer : weights_.layers()) {
    if (!sample_->has_mask || !weights_.in_scope(layer)) continue;
    sample_->layers.push_back(sample_layer(context, layer));
    add(overall, sample_->layers.back(), share(static_cast<double>(layer.num_weights()), total));
  }
}

bool HealthWatch::end_sample(const Context& context, std::int64_t step) {
  if (!sample_ || !samples(step)) return false;
  sample_->step = step + 1;
  sample_layers(context);
  for (const FfnSeam& seam : activations_.seams())
    if (seam.nonzero) sample_->ffns.push_back(sample_ffn(context, seam));
  sample_->overall_ffn = mean_of(sample_->ffns);
  if (!sample_->has_mask || !weights_.projects()) return false;
  sample_->alarm = alarm_.observe(step, sample_->overall.flip_rate);
  return !sample_->alarm.empty() && raise_alarm();
}

bool HealthWatch::raise_alarm() const {
  const bool leaves = at_.recipe().on_alarm == OnAlarm::kDense;
  log_warning(
      fmt::format("step {}: {}{}", sample_->step, sample_->alarm,
                  leaves ? "; recipe.on_alarm = \"dense\": the rest of the run is dense" : ""));
  return leaves;
}

std::optional<HealthSample> HealthWatch::take_sample() {
  if (!sample_ || sample_->step == 0) return std::nullopt;
  std::optional<HealthSample> taken = std::move(sample_);
  sample_.reset();
  return taken;
}

void HealthWatch::save(StateTexts& texts) const { texts["alarm"] = alarm_.save(); }

void HealthWatch::restore(const StateTexts& texts) { alarm_.restore(text_at(texts, "alarm")); }

}  // namespace twill
