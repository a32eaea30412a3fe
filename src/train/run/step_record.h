// SPDX-License-Identifier: Apache-2.0
// What the metrics say of a step.
#pragma once

#include "train/metrics/metric_record.h"
#include "train/step/trainer.h"

namespace twill {

// {"step":40,"tokens":…,"loss":…,"lr":…,"grad_norm":…,"tokens_per_s":…}; of a sparse recipe also its phase and
// the FLOPs so far.
MetricRecord step_record(const StepResult& result, const Trainer& trainer);

}  // namespace twill
