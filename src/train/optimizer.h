// SPDX-License-Identifier: Apache-2.0
// AdamW over all parameters of a model, with the per-group rules of the config.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
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

  // The factor that clipping puts on gradients of this norm.
  double clip_scale(double norm) const;

  // One update. `update` counts from 1; gradients are multiplied by `scale`, except those of which
  // is_scaled() says that they carry it already.
  struct Step {
    double lr = 0.0;
    double scale = 1.0;
    std::int64_t update = 1;
    bool freeze_second_moments = false;
    std::function<bool(const Parameter&)> is_scaled = {};
  };
  void apply(const Context& context, const Step& step);

  // Mean over all elements of how much this step's gradients would move the second moments.
  double mean_moment_change(const Context& context, double scale) const;

  struct Slot {
    Parameter* parameter;
    double lr_scale;
    double weight_decay;
    View m;
    View v;
  };
  const std::deque<Slot>& slots() const { return slots_; }
  const Slot& slot_of(const Parameter& parameter) const;

 private:
  void apply_rule(const OptimizerGroup& group);

  OptimizerConfig config_;
  std::deque<Slot> slots_;
  View sum_;  // (1) f64
};

}  // namespace twill
