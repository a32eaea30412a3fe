// SPDX-License-Identifier: Apache-2.0
#include "io/json/json_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "io/atomic_file.h"
#include "io/json/json.h"

namespace twill {
namespace {

constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;

// The complete lines whose "step" is at most `step`.
std::string lines_up_to(const std::string& content, std::int64_t step) {
  std::string kept;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = content.find('\n', begin);
    if (end == std::string::npos) break;  // torn by a kill
    const std::string_view line(content.data() + begin, end - begin);
    const std::optional<std::int64_t> line_step = json_integer_at(line, "step");
    if (line_step && *line_step <= step) kept.append(line).append("\n");
    begin = end + 1;
  }
  return kept;
}

}  // namespace

JsonLinesFile::JsonLinesFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), kAppend, 0666);
  if (descriptor_ < 0) fail_to_write("write", path_, errno);
}

JsonLinesFile::JsonLinesFile(const Folder& folder, const std::string& name)
    : path_(folder.path() + "/" + name),
      descriptor_(::openat(folder.descriptor(), name.c_str(), kAppend | O_NOFOLLOW, 0666)) {
  if (descriptor_ < 0) fail_to_write("write", path_, errno);
}

JsonLinesFile::~JsonLinesFile() { ::close(descriptor_); }

void JsonLinesFile::append(const JsonValue& line) {
  const std::string text = to_compact_json(line) + '\n';
  write_all(descriptor_, text.data(), text.size(), path_);
}

void JsonLinesFile::flush_to_disk() {
  // A pipe or a device (/dev/stdout) cannot be synced and needs not be.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)
    fail_to_write("write", path_, errno);
}

void JsonLinesFile::cut_after_step(const std::string& path, std::int64_t step) {
  if (!std::filesystem::is_regular_file(path)) return;  // a pipe or a device keeps nothing
  const std::string content = read_file(path);
  const std::string kept = lines_up_to(content, step);
  if (kept != content) write_file(path, kept);
}

void JsonLinesFile::cut_after_step(const Folder& folder, const std::string& name,
                                   std::int64_t step) {
  if (!folder.has(name)) return;
  const std::string content = read_file(folder, name);
  const std::string kept = lines_up_to(content, step);
  if (kept != content) write_file(folder, name, kept);
}

}  // namespace twill
