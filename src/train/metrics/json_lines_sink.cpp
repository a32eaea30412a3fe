// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/json_lines_sink.h"

namespace twill {

JsonLinesSink::JsonLinesSink(Folder folder, std::string name)
    : path_(folder.path() + "/" + name), folder_(std::move(folder)), in_folder_(std::move(name)) {}

void JsonLinesSink::begin(std::int64_t last_step) {
  if (folder_) {
    JsonLinesFile::cut_after_step(*folder_, in_folder_, last_step);
    file_.emplace(*folder_, in_folder_);
    return;
  }
  JsonLinesFile::cut_after_step(path_, last_step);
  file_.emplace(path_);
}

void JsonLinesSink::write(const MetricRecord& record) { file_->append(record.members()); }

void JsonLinesSink::flush() { file_->flush_to_disk(); }

}  // namespace twill
