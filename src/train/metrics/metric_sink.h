// SPDX-License-Identifier: Apache-2.0
// Where the records of a run go: a file of JSON Lines is one such place, and a run feeds a list of
// them (train/metrics/metric_sinks.h). What a person sees while it trains is TrainingListener's.
#pragma once

#include <cstdint>
#include <string>

#include "train/metrics/metric_record.h"

namespace twill {

// Every function may throw: MetricSinks decides what that means.
class MetricSink {
 public:
  virtual ~MetricSink() = default;
  // For messages: the path of a file.
  virtual std::string name() const = 0;
  // Before the first record. A resumed run goes on behind `last_step` and will write later ones
  // again: what is known of them is to be forgotten. -1: a run from its beginning.
  virtual void begin(std::int64_t last_step) = 0;
  virtual void write(const MetricRecord& record) = 0;
  // Returns when all that was written survives a crash. Called before every checkpoint.
  virtual void flush() {}
};

}  // namespace twill
