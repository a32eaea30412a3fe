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

#include "io/folder.h"

namespace twill {

class AtomicFile {
 public:
  // Makes `path`.tmp. What a killed process left under that name is removed first, and so is a link
  // that somebody laid there: what we write into is a file that we have made.
  explicit AtomicFile(const std::string& path);
  AtomicFile(const Folder& folder, const std::string& name);
  // Without commit() the temporary is removed and the old file stays.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  // Overwrites bytes already written, for what is known only at the end (a checksum).
  void patch(std::int64_t offset, const void* data, std::size_t bytes);
  // Throws where another process has taken the temporary name meanwhile.
  void commit();
  // For messages.
  const std::string& path() const { return path_; }

 private:
  AtomicFile(const std::optional<Folder>& folder, std::string name, std::string path);
  bool is_ours() const;

  Folder folder_;
  std::string name_;
  std::string temporary_;
  std::string path_;
  int descriptor_ = -1;
};

void write_file(const std::string& path, std::string_view content);
void write_file(const Folder& folder, const std::string& name, std::string_view content);

// The whole of a regular file. Throws `cannot read x: No such file or directory`, also for pipes and
// devices, which would be waited for or never end, and for more than `max_bytes`.
std::string read_file(const std::string& path,
                      std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max());
std::string read_file(const Folder& folder, const std::string& name);  // a link is not followed

// Creates the folder and its parents; an existing folder is fine.
void create_directories(const std::string& path);

// Makes the finished folder `temporary` visible as `final_path`: its files, then itself, are forced
// to disk and renamed. An existing `final_path` is replaced.
void publish_directory(const std::string& temporary, const std::string& final_path);
// The same with two names in `folder`.
void publish_directory(const Folder& folder, const std::string& temporary, const std::string& name);

// Writes all bytes to a file descriptor. `path` is for the message only.
void write_all(int descriptor, const void* data, std::size_t bytes, const std::string& path);

// `cannot write runs/x/config.toml: No space left on device; free some space or …`.
// `action` is "write" or "create", `error` an errno value.
[[noreturn]] void fail_to_write(std::string_view action, const std::string& path, int error);

}  // namespace twill
