// SPDX-License-Identifier: Apache-2.0
// Small pieces shared by the files of io that talk to the operating system. Private to io.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace twill {

// Owns a file descriptor. Move only.
class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (valid()) ::close(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  bool valid() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Forces a file or a folder to disk. Errors name `shown`.
void sync_path(const std::string& path, const std::string& shown);
void sync_descriptor(int descriptor, const std::string& shown);

// Everything until the end of a file. Errors name `shown`.
std::string read_all(int descriptor, const std::string& shown);

// The entries of a folder without "." and ".."; of what is no folder, none.
std::vector<std::string> names_in(int descriptor);

// "runs/x" for "runs/x/config.toml", "." for "config.toml".
std::string folder_of(const std::string& path);

}  // namespace twill
