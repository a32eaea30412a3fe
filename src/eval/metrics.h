// SPDX-License-Identifier: Apache-2.0
// Numbers over many examples, each with the standard error that so many examples leave.
#pragma once

#include <span>
#include <string>

namespace twill {

struct Metric {
  std::string name;
  double value = 0.0;
  double standard_error = 0.0;  // NaN for fewer than two examples
};

// The mean, and sqrt(Σ (x - mean)² / (n - 1) / n): for n answers that are right (1) or wrong (0)
// with mean p, sqrt(p (1 - p) / (n - 1)).
Metric mean_metric(std::string name, std::span<const double> values);

// exp(-mean) of log-likelihoods. The error is carried through the exponential to first order,
// perplexity times the error of the mean (lm-evaluation-harness draws samples instead).
Metric perplexity_metric(std::string name, std::span<const double> log_likelihoods);

}  // namespace twill
