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

// health.on_stall = "stop", behind the saving of the state: it is as good as that of a run that goes on.
[[noreturn]] void fail_stalled(const Stall& stall, const std::string& run);

}  // namespace twill
