// SPDX-License-Identifier: Apache-2.0
// A file read at any place. Errors are twill::Error with the path.
#pragma once

#include <cstdint>
#include <string>

#include "io/descriptor.h"

namespace twill {

// A regular file, opened for reading. Refuses folders, pipes and devices: `cannot read x: …`.
struct OpenedFile {
  Descriptor descriptor;
  std::int64_t bytes = 0;
};
OpenedFile open_regular_file(const std::string& path);

class InputFile {
 public:
  // Refuses what is not a regular file: folders, pipes, devices.
  explicit InputFile(std::string path);

  const std::string& path() const { return path_; }
  std::int64_t num_bytes() const { return bytes_; }

  // All of [offset, offset + bytes), or an error.
  void read_at(std::int64_t offset, void* destination, std::int64_t bytes) const;
  // The first bytes, at most this many.
  std::string head(std::int64_t most) const;

 private:
  std::string path_;
  Descriptor descriptor_;
  std::int64_t bytes_ = 0;
};

}  // namespace twill
