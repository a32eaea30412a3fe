// SPDX-License-Identifier: Apache-2.0
// JSON Lines: appended to while a run goes on, cut back when it resumes.
#pragma once

#include <cstdint>
#include <string>

#include "io/folder.h"
#include "io/json/json_value.h"

namespace twill {

// Errors are twill::Error, as in io/atomic_file.h.
class JsonLinesFile {
 public:
  explicit JsonLinesFile(std::string path);  // creates the file or appends to it
  JsonLinesFile(const Folder& folder, const std::string& name);  // the same; no link is followed
  ~JsonLinesFile();
  JsonLinesFile(const JsonLinesFile&) = delete;
  JsonLinesFile& operator=(const JsonLinesFile&) = delete;

  // As to_compact_json() writes it. One write call per line: a killed process leaves at most one torn
  // line, the last.
  void append(const JsonValue& line);
  void flush_to_disk();

  // Keeps the complete lines whose "step" is at most `step`. A missing file stays missing.
  static void cut_after_step(const std::string& path, std::int64_t step);
  static void cut_after_step(const Folder& folder, const std::string& name, std::int64_t step);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace twill
