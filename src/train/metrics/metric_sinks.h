// SPDX-License-Identifier: Apache-2.0
// The places that a run's records go to, in the order added.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "train/metrics/metric_sink.h"

namespace twill {

// kStop: what the sink throws goes on to the caller. kGoOn: a warning says once why the sink has
// failed, and it gets nothing more: a run of days does not end because somebody's display does.
enum class OnSinkFailure { kStop, kGoOn };

class MetricSinks {
 public:
  void add(std::shared_ptr<MetricSink> sink, OnSinkFailure on_failure);

  void begin(std::int64_t last_step);
  void write(const MetricRecord& record);
  void flush();

 private:
  struct Entry {
    std::shared_ptr<MetricSink> sink;
    OnSinkFailure on_failure;
  };

  void for_each(const std::function<void(MetricSink&)>& action);

  std::vector<Entry> entries_;
};

}  // namespace twill
