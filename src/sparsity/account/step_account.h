// SPDX-License-Identifier: Apache-2.0
// What a step costs on hardware that leaves zeros out, by the formulas of
// sparsity/account/flop_account.h, and the sum over a run. Masked execution computes all of it: these
// are counts, not times.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sparsity/account/flop_account.h"
#include "sparsity/activations/activation_steering.h"
#include "sparsity/weights/weight_steering.h"

namespace twill {

class StepAccount {
 public:
  StepAccount(Builder& builder, const RunPosition& at, const WeightSteering& weights,
              const ActivationSteering& activations, std::int64_t sequence);

  // As the seams are now; an update of a topology (`moves`) needs the whole weight gradient.
  Flops flops_per_token(bool moves) const;
  void count(bool moves, std::int64_t tokens);
  // The step counted last will be done again.
  void uncount() { account_ = FlopAccount(before_); }
  const Flops& total() const { return account_.total(); }
  // A resumed run that has no state of its own: all its tokens were dense.
  void restore_dense(std::int64_t tokens);

  void save(StateTexts& texts) const;
  void restore(const StateTexts& texts);

 private:
  std::vector<LinearCost> linear_costs() const;
  double share_of_pairs(const AttentionSeam& seam) const;

  const RunPosition& at_;
  const WeightSteering& weights_;
  const ActivationSteering& activations_;
  const std::deque<LinearSeam>* linear_seams_;
  const std::deque<AttentionSeam>* attention_seams_;
  std::int64_t sequence_;
  std::int64_t attention_width_ = 0;
  FlopAccount account_;
  Flops before_;  // in front of the step counted last
  // The share of pairs costs T² to count: kept until the pattern changes.
  mutable AttentionPattern known_pattern_ = AttentionPattern::kCausal;
  mutable std::int64_t known_stride_ = 0;
  mutable double known_pairs_ = 1.0;
};

}  // namespace twill
