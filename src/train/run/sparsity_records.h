// SPDX-License-Identifier: Apache-2.0
// What the metrics file says of sparsity, and how a phase is put into words.
#pragma once

#include <string>

#include "io/json_lines.h"
#include "sparsity/engine/engine.h"

namespace twill {

// {"step":40,"health":{"flip_rate":…,"layers":{"blocks.0.ffn.input":{…}},"ffns":{…}}}
JsonLine health_record(const HealthSample& sample);

// "2:4-transposable weights, new masks every 40 steps, mvue gradients, decay 6e-05 on gradients".
std::string describe(const PhaseConfig& phase);

}  // namespace twill
