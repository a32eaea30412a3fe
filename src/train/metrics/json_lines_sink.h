// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: a line of JSON for every record.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "io/json/json_lines.h"
#include "train/metrics/metric_sink.h"

namespace twill {

class JsonLinesSink : public MetricSink {
 public:
  explicit JsonLinesSink(std::string path) : path_(std::move(path)) {}
  JsonLinesSink(Folder folder, std::string name);  // no link is followed

  std::string name() const override { return path_; }
  void begin(std::int64_t last_step) override;
  void write(const MetricRecord& record) override;
  void flush() override;

 private:
  std::string path_;
  std::optional<Folder> folder_;
  std::string in_folder_;  // the name there
  std::optional<JsonLinesFile> file_;
};

}  // namespace twill
