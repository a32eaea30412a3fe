// SPDX-License-Identifier: Apache-2.0
// AdamW over all parameters of a model, with the per-group rules of the config. What else an update
// does to a parameter stands in Parameter::update.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "nn/builder.h"
#include "ops/update/update_all.h"
#include "tensor/tensor.h"
#include "train/run/run_config.h"

namespace twill {

class Optimizer {
 public:
  // Reserves the moments with the builder, which is not committed yet. `seed` is of the draws that
  // round bf16 moments.
  Optimizer(Builder& builder, const OptimizerConfig& config, std::uint64_t seed = 0);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Global norm of all gradients. Not finite when any gradient is not.
  double gradient_norm(const Context& context) const;

  // The factor that clipping puts on gradients of this norm.
  double clip_scale(double norm) const;

  // One update. `update` counts from 1; gradients are multiplied by `scale`.
  struct Step {
    double lr = 0.0;
    double scale = 1.0;
    std::int64_t update = 1;
  };
  void apply(const Context& context, const Step& step);
  // The part of it that pulls on pruned entries. Gradients that it changes carry the scale.
  void pull(const Context& context, const Step& step) const;

  // Whether norm, clipping and AdamW run without asking the host, as recordable work that reads
  // `scalars` (ops/update/update_all.h) when it runs.
  bool is_on_device(const Context& context) const;
  // Behind the builder's commit(), and again when a parameter's update becomes another. All second
  // moments are frozen, or none.
  void prepare(const Context& context);
  // What the next update shall use; returns at once.
  void set_scalars(const Context& context, double lr, std::int64_t update);
  void norm_on_device(const Context& context);
  void update_on_device(const Context& context);
  // A place for the sum of the micro-batches' losses, (1) f64: on a device the update looks at it.
  View loss_sum() const { return scalars_ ? scalars_.slice(kLoss, 1) : loss_; }
  // The same, and the square of the last norm behind it: (2) f64.
  ConstView loss_and_norm2() const { return scalars_.slice(kLoss, 2); }

  // Mean over all elements of how much this step's gradients would move the second moments.
  double mean_moment_change(const Context& context, double scale) const;

  struct Slot {
    Parameter* parameter;
    double lr_scale;
    double weight_decay;
    View& m;  // the parameter's moments
    View& v;
  };
  // What norm and update read: of every parameter its gradient, or that of its kept entries.
  std::vector<View> gradients() const;

  const std::deque<Slot>& slots() const { return slots_; }
  std::deque<Slot>& slots() { return slots_; }
  const Slot& slot_of(const Parameter& parameter) const;

 private:
  void apply_rule(const OptimizerGroup& group);
  bool freezes() const;
  double eps() const;

  OptimizerConfig config_;
  std::uint64_t seed_;
  std::deque<Slot> slots_;
  View sum_;   // (1) f64
  View loss_;  // (1) f64; on a device among the scalars
  // On a device only.
  std::vector<UpdateTensor> tensors_;
  View table_;
  View partials_;
  View scalars_;
  Tensor staged_scalars_;
};

}  // namespace twill
