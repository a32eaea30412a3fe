// SPDX-License-Identifier: Apache-2.0
// What metrics.jsonl of a run says about the whole of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace twill {

struct MetricsSummary {
  std::int64_t last_step = -1;  // of the last complete line; -1: there is none
  std::optional<double> first_validation_loss;
  std::optional<double> last_validation_loss;
};

// A missing file says nothing, nor does a line that is torn or no JSON.
MetricsSummary summarise_metrics(const std::string& path);

}  // namespace twill
