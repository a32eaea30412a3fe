// SPDX-License-Identifier: Apache-2.0
// FLOPs per token, forward and backward:
//
//   linear     2 per weight for each of the three products (output, input gradient, weight
//              gradient), times the share of the dense product that is computed
//   attention  12 L d T, times the share of the causal pairs that is kept; the full square is
//              counted for dense and sparse alike
//
// Norms, activations and the optimizer are not counted. Every figure comes with and without the
// head, because the head decides what factor a small model can reach.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ops/attention/attention_pattern.h"

namespace twill {

// One weight matrix. Shares: 1 dense, 0.5 for 2:4, 2/M for V:2:M, the density of a kept topology.
struct LinearCost {
  std::int64_t weights = 0;
  double forward = 1.0;
  double dgrad = 1.0;
  double wgrad = 1.0;
  bool head = false;
};

struct AttentionCost {
  std::int64_t num_layers = 0;
  std::int64_t width = 0;  // of all heads together
  std::int64_t time = 0;
  double kept = 1.0;  // share of the causal pairs
};

// Also what an account holds: plain numbers, to be saved and restored bit for bit.
struct Flops {
  double spent = 0.0;
  double dense = 0.0;
  double spent_without_head = 0.0;
  double dense_without_head = 0.0;

  double ratio() const { return spent / dense; }
  double ratio_without_head() const { return spent_without_head / dense_without_head; }
};

double kept_pairs(AttentionPattern pattern, std::int64_t stride, std::int64_t time);

Flops flops_per_token(std::span<const LinearCost> linears, const AttentionCost& attention);

// An update step of a kept topology needs the whole weight gradient.
std::vector<LinearCost> with_dense_wgrad(std::vector<LinearCost> linears);

// RigL's mean cost of a step: `interval` steps with sparse weight gradients, then one with a dense
// one. `sparse` and `dense` are the costs of a forward pass.
double rigl_step_cost(double sparse, double dense, std::int64_t interval);

// The sum over a run's steps.
class FlopAccount {
 public:
  FlopAccount() = default;
  explicit FlopAccount(const Flops& saved) : total_(saved) {}

  void add(const Flops& per_token, std::int64_t tokens);
  const Flops& total() const { return total_; }

 private:
  Flops total_;
};

// A schedule's mean of at(t), t in [0, 1], over the middles of `samples` equal parts.
Flops mean_flops(const std::function<Flops(double t)>& at, std::int64_t samples = 1000);

// Dense to `floor` in the first `warm_up` of a run, `floor`, and back to dense in the last
// `restore`, all linear in time.
struct ThreePhases {
  double warm_up = 0.1;
  double restore = 0.2;
  double floor = 0.1;

  double density(double t) const;
};

}  // namespace twill
