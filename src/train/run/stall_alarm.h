// SPDX-License-Identifier: Apache-2.0
// The alarm of a run that stops to learn (train/metrics/stall_watch.h), as the config asks for it.
#pragma once

#include <cstdint>
#include <string>

#include "train/metrics/metric_record.h"
#include "train/metrics/stall_watch.h"
#include "train/run/run_config.h"

namespace twill {

// Of a run that goes on behind `last_step`: it has seen what its metrics hold. -1: a new run.
StallWatch stall_watch_of(const RunConfig& config, const std::string& metrics_file,
                          std::int64_t last_step);

MetricRecord stall_record(const Stall& stall);

}  // namespace twill
