// SPDX-License-Identifier: Apache-2.0
#include "eval/metrics.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"

namespace twill {

Metric mean_metric(std::string name, std::span<const double> values) {
  TWILL_CHECK(!values.empty(), "a metric has examples");
  const auto count = static_cast<double>(values.size());
  double sum = 0.0, squares = 0.0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double error = values.size() > 1 ? std::sqrt(squares / (count - 1.0) / count)
                                         : std::numeric_limits<double>::quiet_NaN();
  return {.name = std::move(name), .value = mean, .standard_error = error};
}

Metric perplexity_metric(std::string name, std::span<const double> log_likelihoods) {
  const Metric mean = mean_metric("", log_likelihoods);
  const double perplexity = std::exp(-mean.value);
  return {.name = std::move(name),
          .value = perplexity,
          .standard_error = perplexity * mean.standard_error};
}

}  // namespace twill
