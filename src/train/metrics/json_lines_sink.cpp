// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/json_lines_sink.h"

namespace twill {

void JsonLinesSink::begin(std::int64_t last_step) {
  JsonLinesFile::cut_after_step(path_, last_step);
  file_.emplace(path_);
}

void JsonLinesSink::write(const MetricRecord& record) { file_->append(record.members()); }

void JsonLinesSink::flush() { file_->flush_to_disk(); }

}  // namespace twill
