// SPDX-License-Identifier: Apache-2.0
// The targets of a pass and what a model loses on them: where they lie, how many there are, their
// losses and the mean. Everything but read() and scores() is given to the queue and waits for nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/builder.h"
#include "nn/pass.h"

namespace twill {

// Of the last pass.
struct PassLoss {
  double mean = 0.0;     // in nats, over the targets; 0 where there are none
  double targets = 0.0;  // how many
};

// By how much the loss of each target counts in what is learnt from: share / count.
struct LossScale {
  double share = 1.0;    // 1 / number of micro-batches of a step
  ConstView count = {};  // (1) f64, read when the work runs: targets of a micro-batch
};

// What a model thinks of one target.
struct TargetScore {
  double loss = 0.0;    // -log probability, in nats
  bool greedy = false;  // the likeliest of all; of equally likely ones the lowest id
};

class TargetLoss {
 public:
  // Room for `most` targets a pass, each one of `classes`.
  TargetLoss(Builder& builder, std::int64_t most, std::int64_t classes);
  TargetLoss(const TargetLoss&) = delete;
  TargetLoss& operator=(const TargetLoss&) = delete;

  // `targets` i32 on the host, ids in [0, classes) or -1: none. Throws twill::Error for others.
  void load(const Pass& pass, ConstView targets);
  // In front of every pass that reads num_targets().
  void count(const Pass& pass) const;
  // count (1) f64 (+)= how many targets there are.
  void count_into(const Pass& pass, View count, bool accumulate) const;

  ConstView targets() const { return targets_.slice(0, loaded_); }
  View losses() const { return losses_.slice(0, loaded_); }
  ConstView num_targets() const { return result_.slice(1, 1); }  // (1) f64
  View best() const { return best_ ? best_.slice(0, loaded_) : View(); }

  // Where a step does not say how many targets its micro-batches have, the pass has its own.
  LossScale scale_of(const LossScale& asked) const {
    return {.share = asked.share, .count = count_of(asked.count)};
  }
  // mean (1) f64 (+)= the sum of the losses over `count` (1) f64; absent: the number of targets.
  void add_mean(const Pass& pass, ConstView count, View mean, bool accumulate) const;
  PassLoss read(const Pass& pass) const;
  // One score per target, from losses() and best(); a target of -1 has none: {0, false}. In a model
  // built for inference.
  std::vector<TargetScore> scores(const Pass& pass) const;

 private:
  ConstView count_of(ConstView asked) const { return asked ? asked : num_targets(); }

  std::int64_t classes_;
  std::int64_t loaded_ = 0;
  View targets_;  // (most) i32
  View losses_;   // (most), in the wide type
  View best_;     // (most) i32, not in training
  View sum_;      // (1) f64
  View result_;   // (2) f64: mean and number of targets
};

}  // namespace twill
