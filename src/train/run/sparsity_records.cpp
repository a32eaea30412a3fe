// SPDX-License-Identifier: Apache-2.0
#include "train/run/sparsity_records.h"

#include <vector>

#include <fmt/format.h>

namespace twill {
namespace {

MetricRecord record(const LayerHealth& layer) {
  return MetricRecord()
      .add("flip_rate", layer.flip_rate)
      .add("interval_flip_rate", layer.interval_flip_rate)
      .add("kept_l1", layer.kept_l1)
      .add("kept_energy", layer.kept_energy)
      .add("density", layer.density)
      .add("beta", layer.beta);
}

MetricRecord record(const FfnHealth& ffn) {
  return MetricRecord()
      .add("activation_density", ffn.activation_density)
      .add("dead_neurons", ffn.dead_neurons)
      .add("dropped_columns", ffn.dropped_columns)
      .add("dropped_rows", ffn.dropped_rows)
      .add("dropped_transposed", ffn.dropped_transposed)
      .add("dropped_gradient", ffn.dropped_gradient);
}

template <class Part>
std::string pattern_text(const Part& part) {
  using Pattern = decltype(part.pattern);
  if (part.pattern == Pattern::kVenom) return fmt::format("{}:2:{}", part.v, part.m);
  return std::string(word_of(part.pattern));
}

std::string topology_text(const TopologyPart& part) {
  const std::string density = part.end() == part.density
                                  ? fmt::format("{}", part.density)
                                  : fmt::format("{} to {}", part.density, part.end());
  const std::string moves = part.churn == 0.0 && part.end() == part.density ? "never moved"
                            : part.interval > 0 ? fmt::format("moved every {} steps", part.interval)
                                                : "moved 120 times a run";
  return fmt::format("topology of density {}, {}", density, moves);
}

std::string weights_text(const PhaseConfig& phase) {
  const WeightsPart& part = phase.weights;
  if (part.is_dense()) return {};
  if (part.is_topology()) return topology_text(phase.topology);
  std::string text = pattern_text(part) + " weights";
  if (part.is_soft()) return text + ", soft threshold";
  return part.refresh == 1 ? text : text + fmt::format(", new masks every {} steps", part.refresh);
}

}  // namespace

MetricRecord health_record(const HealthSample& sample) {
  MetricRecord health = sample.has_mask ? record(sample.overall) : MetricRecord();
  MetricRecord layers, ffns;
  for (const LayerHealth& layer : sample.layers) layers.add(layer.name, record(layer));
  for (const FfnHealth& ffn : sample.ffns) ffns.add(ffn.name, record(ffn));
  if (!sample.layers.empty()) health.add("layers", layers);
  if (!sample.ffns.empty()) health.add("activations", record(sample.overall_ffn)).add("ffns", ffns);
  if (!sample.alarm.empty()) health.add("alarm", sample.alarm);
  return MetricRecord().add("step", sample.step).add("health", health);
}

MetricRecord runs_record(std::int64_t step, const PhaseRuns& runs) {
  return MetricRecord()
      .add("step", step)
      .add("phase", runs.phase)
      .add("runs", MetricRecord()
                       .add("matrices", runs.matrices)
                       .add("sparse", runs.sparse)
                       .add("packed", runs.packed)
                       .add("sampled", runs.sampled));
}

std::string describe(const PhaseConfig& phase, const PhaseRuns& runs) {
  PhaseConfig shown = phase;
  if (runs.sampled == 0) shown.wgrad.estimator = WgradEstimator::kDense;
  if (!runs.selects) shown.activations = {};
  return fmt::format("{}; {}", describe(shown), runs_text(phase, runs));
}

std::string describe(const PhaseConfig& phase) {
  std::vector<std::string> parts;
  if (const std::string weights = weights_text(phase); !weights.empty()) parts.push_back(weights);
  if (phase.wgrad.is_sample())
    parts.push_back(fmt::format("{} gradients", word_of(phase.wgrad.estimator)));
  const ActivationsPart& activations = phase.activations;
  if (!activations.is_dense()) parts.push_back(pattern_text(activations) + " activations");
  if (phase.decay.on != DecayOn::kNone)
    parts.push_back(fmt::format("decay {} on {}", phase.decay.lambda, word_of(phase.decay.on)));
  if (phase.attention.mask != AttentionPattern::kCausal)
    parts.push_back(fmt::format("{} attention", word_of(phase.attention.mask)));
  if (phase.quantise.format != NumberFormat::kNone)
    parts.push_back(fmt::format("{} products", word_of(phase.quantise.format)));
  if (phase.optimizer.second_moment == SecondMoment::kFrozen)
    parts.emplace_back("second moments frozen");
  return parts.empty() ? "dense" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace twill
