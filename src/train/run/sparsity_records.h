// SPDX-License-Identifier: Apache-2.0
// What the metrics say of sparsity, and how a phase is put into words.
#pragma once

#include <string>

#include "sparsity/engine/engine.h"
#include "train/metrics/metric_record.h"

namespace twill {

// {"step":40,"health":{"flip_rate":…,"layers":{"blocks.0.ffn.input":{…}},"ffns":{…}}}
MetricRecord health_record(const HealthSample& sample);

// "2:4-transposable weights, new masks every 40 steps, mvue gradients, decay 6e-05 on gradients".
std::string describe(const PhaseConfig& phase);

}  // namespace twill
