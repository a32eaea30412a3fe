// SPDX-License-Identifier: Apache-2.0
// Files and folders that appear whole or not at all: written under a temporary name beside the
// final one, forced to disk, renamed. A process killed at any moment leaves the old content or the
// new one. Errors are twill::Error with what the user can do; temporaries are then removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace twill {

class AtomicFile {
 public:
  // Opens `path`.tmp. Leftovers of a killed process under that name are overwritten.
  explicit AtomicFile(std::string path);
  // Without commit() the temporary is removed and the old file stays.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  // Overwrites bytes already written, for what is known only at the end (a checksum).
  void patch(std::int64_t offset, const void* data, std::size_t bytes);
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

void write_file(const std::string& path, std::string_view content);

// The whole of a regular file. Throws `cannot read x: No such file or directory`, also for pipes and
// devices, which would be waited for or never end, and for more than `max_bytes`.
std::string read_file(const std::string& path,
                      std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max());

// Creates the folder and its parents; an existing folder is fine.
void create_directories(const std::string& path);

// Makes the finished folder `temporary` visible as `final_path`: its files, then itself, are forced
// to disk and renamed. An existing `final_path` is replaced.
void publish_directory(const std::string& temporary, const std::string& final_path);

// Writes all bytes to a file descriptor. `path` is for the message only.
void write_all(int descriptor, const void* data, std::size_t bytes, const std::string& path);

// `cannot write runs/x/config.toml: No space left on device; free some space or …`.
// `action` is "write" or "create", `error` an errno value.
[[noreturn]] void fail_to_write(std::string_view action, const std::string& path, int error);

}  // namespace twill
