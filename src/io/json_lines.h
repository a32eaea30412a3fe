// SPDX-License-Identifier: Apache-2.0
// The metrics file: JSON Lines, appended to while a run goes on, cut back when it resumes.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace twill {

// One JSON object on one line, keys in the order added.
class JsonLine {
 public:
  // Shortest digits that read back as the same double. JSON has no NaN and no infinity: null.
  JsonLine& add(std::string_view key, double value);
  JsonLine& add(std::string_view key, bool value);
  JsonLine& add(std::string_view key, std::string_view value);
  JsonLine& add(std::string_view key, const char* value) {
    return add(key, std::string_view(value));
  }
  JsonLine& add(std::string_view key, const JsonLine& object) {
    return add_raw(key, object.text());
  }
  template <std::integral Integer>
  JsonLine& add(std::string_view key, Integer value) {
    return add_integer(key, static_cast<std::int64_t>(value));
  }

  // `{"step":1,"loss":5.5}`, without a line end.
  std::string text() const { return "{" + members_ + "}"; }

 private:
  JsonLine& add_integer(std::string_view key, std::int64_t value);
  JsonLine& add_raw(std::string_view key, std::string_view json);

  std::string members_;
};

// Errors are twill::Error, as in io/atomic_file.h.
class JsonLinesFile {
 public:
  explicit JsonLinesFile(std::string path);  // creates the file or appends to it
  ~JsonLinesFile();
  JsonLinesFile(const JsonLinesFile&) = delete;
  JsonLinesFile& operator=(const JsonLinesFile&) = delete;

  // One write call per line: a killed process leaves at most one torn line, the last.
  void append(const JsonLine& line);
  void flush_to_disk();

  // Keeps the complete lines whose "step" is at most `step`. A missing file stays missing.
  static void cut_after_step(const std::string& path, std::int64_t step);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace twill
