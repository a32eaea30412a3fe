// SPDX-License-Identifier: Apache-2.0
#include "sparsity/account/flop_account.h"

#include <algorithm>

#include "base/require.h"

namespace twill {
namespace {

// total += factor * part
void add_scaled(Flops& total, const Flops& part, double factor) {
  total.spent += factor * part.spent;
  total.dense += factor * part.dense;
  total.spent_without_head += factor * part.spent_without_head;
  total.dense_without_head += factor * part.dense_without_head;
}

}  // namespace

double kept_pairs(AttentionPattern pattern, std::int64_t stride, std::int64_t time) {
  if (pattern == AttentionPattern::kCausal) return 1.0;
  return static_cast<double>(num_visible(pattern, stride, time)) /
         static_cast<double>(num_visible(AttentionPattern::kCausal, stride, time));
}

Flops flops_per_token(std::span<const LinearCost> linears, const AttentionCost& attention) {
  Flops flops;
  for (const LinearCost& linear : linears) {
    const double product = 2.0 * static_cast<double>(linear.weights);
    const double spent = product * (linear.forward + linear.dgrad + linear.wgrad);
    const double beside_head = linear.head ? 0.0 : 1.0;
    add_scaled(flops, {spent, 3.0 * product, beside_head * spent, beside_head * 3.0 * product},
               1.0);
  }
  const double pairs = 12.0 * static_cast<double>(attention.num_layers) *
                       static_cast<double>(attention.width) * static_cast<double>(attention.time);
  add_scaled(flops, {attention.kept * pairs, pairs, attention.kept * pairs, pairs}, 1.0);
  return flops;
}

std::vector<LinearCost> with_dense_wgrad(std::vector<LinearCost> linears) {
  for (LinearCost& linear : linears) linear.wgrad = 1.0;
  return linears;
}

double rigl_step_cost(double sparse, double dense, std::int64_t interval) {
  require(interval >= 1, "the interval of updates must be 1 or more, got {}", interval);
  const auto delta = static_cast<double>(interval);
  return (3.0 * sparse * delta + 2.0 * sparse + dense) / (delta + 1.0);
}

void FlopAccount::add(const Flops& per_token, std::int64_t tokens) {
  add_scaled(total_, per_token, static_cast<double>(tokens));
}

Flops mean_flops(const std::function<Flops(double)>& at, std::int64_t samples) {
  require(samples >= 1, "a mean needs 1 or more samples, got {}", samples);
  Flops mean;
  const double part = 1.0 / static_cast<double>(samples);
  for (std::int64_t k = 0; k < samples; ++k)
    add_scaled(mean, at((static_cast<double>(k) + 0.5) * part), part);
  return mean;
}

double ThreePhases::density(double t) const {
  const double from_start = warm_up > 0.0 ? t / warm_up : 1.0;
  const double to_end = restore > 0.0 ? (1.0 - t) / restore : 1.0;
  return 1.0 - (1.0 - floor) * std::min({1.0, from_start, to_end});
}

}  // namespace twill
