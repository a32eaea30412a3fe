// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/metric_sinks.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace twill {

void MetricSinks::add(std::shared_ptr<MetricSink> sink, OnSinkFailure on_failure) {
  entries_.push_back({std::move(sink), on_failure});
}

void MetricSinks::begin(std::int64_t last_step) {
  for_each([&](MetricSink& sink) { sink.begin(last_step); });
}

void MetricSinks::write(const MetricRecord& record) {
  for_each([&](MetricSink& sink) { sink.write(record); });
}

void MetricSinks::flush() {
  for_each([](MetricSink& sink) { sink.flush(); });
}

void MetricSinks::for_each(const std::function<void(MetricSink&)>& action) {
  const auto has_failed = [&](const Entry& entry) {
    try {
      action(*entry.sink);
      return false;
    } catch (const std::exception& problem) {
      if (entry.on_failure == OnSinkFailure::kStop) throw;
      log_warning(fmt::format("{} gets no more metrics: {}; the run goes on", entry.sink->name(),
                              problem.what()));
      return true;
    }
  };
  std::erase_if(entries_, has_failed);
}

}  // namespace twill
