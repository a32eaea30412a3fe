// SPDX-License-Identifier: Apache-2.0
// Samples of a run's health. A sampled step compares the mask of the weights before it with the mask
// behind it: two selections and one sum per layer, every 40 steps well below 1 % of the time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sparsity/account/health.h"
#include "sparsity/activations/activation_steering.h"
#include "sparsity/weights/weight_steering.h"

namespace twill {

class HealthWatch {
 public:
  HealthWatch(const RunPosition& at, const WeightSteering& weights,
              const ActivationSteering& activations)
      : at_(at), weights_(weights), activations_(activations) {}
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  bool samples(std::int64_t step) const;
  void begin_phase() { alarm_.begin_phase(at_.clock().begin(), at_.clock().end()); }
  // In front of a step, and behind its update. An alarm is told in a warning; true where the recipe
  // then wants to be dense.
  void begin_sample(const Context& context, std::int64_t step);
  bool end_sample(const Context& context, std::int64_t step);
  // Of the step just done, if one was due.
  std::optional<HealthSample> take_sample();

  void save(StateTexts& texts) const;
  void restore(const StateTexts& texts);

 private:
  // The mask whose flips are counted: the phase's own, or the virtual one; dense: none.
  const WeightsPart& sampled_part() const;
  void current_mask(const Context& context, const SparseLayer& layer, View mask) const;
  LayerHealth sample_layer(const Context& context, const SparseLayer& layer) const;
  void sample_layers(const Context& context);
  bool raise_alarm() const;

  const RunPosition& at_;
  const WeightSteering& weights_;
  const ActivationSteering& activations_;
  FlipAlarm alarm_;
  std::optional<HealthSample> sample_;
};

}  // namespace twill
