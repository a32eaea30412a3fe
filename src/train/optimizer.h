// SPDX-License-Identifier: Apache-2.0
// AdamW over all parameters of a model, with the per-group rules of the config.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "nn/builder.h"
#include "train/run_config.h"

namespace twill {

class Optimizer {
 public:
  // Reserves the moments with the builder, which is not committed yet.
  Optimizer(Builder& builder, const OptimizerConfig& config);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Global norm of all gradients. Not finite when any gradient is not.
  double gradient_norm(const Context& context) const;

  // One update; `update` counts from 1. Gradients are scaled by clip / norm where norm exceeds
  // clip.
  void apply(const Context& context, double lr, double norm, std::int64_t update);

  struct Slot {
    Parameter* parameter;
    double lr_scale;
    double weight_decay;
    View m;
    View v;
  };
  const std::deque<Slot>& slots() const { return slots_; }

 private:
  void apply_rule(const OptimizerGroup& group);

  OptimizerConfig config_;
  std::deque<Slot> slots_;
  View sum_;  // (1) f64
};

}  // namespace twill
