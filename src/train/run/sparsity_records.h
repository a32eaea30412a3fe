// SPDX-License-Identifier: Apache-2.0
// What the metrics say of sparsity, and how a phase is put into words.
#pragma once

#include <string>

#include "sparsity/engine/engine.h"
#include "sparsity/plan/what_runs.h"
#include "train/metrics/metric_record.h"

namespace twill {

// {"step":40,"health":{"flip_rate":…,"layers":{"blocks.0.ffn.input":{…}},"ffns":{…}}}
MetricRecord health_record(const HealthSample& sample);

// What is said of a recipe that an alarm has turned off.
inline constexpr const char* kDenseSinceAlarm = "dense since an alarm";

// {"step":1,"phase":0,"runs":{"matrices":8,"sparse":4,"packed":4,"sampled":0}}: at the first step of a phase.
MetricRecord runs_record(std::int64_t step, const PhaseRuns& runs);

// "2:4-transposable weights, new masks every 40 steps, mvue gradients, decay 6e-05 on gradients".
std::string describe(const PhaseConfig& phase);
// The same of what runs, and in how many matrices: no word of gradients that nobody samples.
std::string describe(const PhaseConfig& phase, const PhaseRuns& runs);

}  // namespace twill
