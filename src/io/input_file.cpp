// SPDX-License-Identifier: Apache-2.0
#include "io/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/require.h"

namespace twill {

namespace {

std::string_view kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return " but a pipe; write what comes out of it into a file first";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return " but a device";
  if (S_ISSOCK(mode)) return " but a socket";
  return "";
}

}  // namespace

OpenedFile open_regular_file(const std::string& path) {
  // NONBLOCK: opening a pipe would wait for its writer. It changes nothing for files.
  OpenedFile file{Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), 0};
  require(file.descriptor.valid(), "cannot read {}: {}", path, std::strerror(errno));
  struct stat status {};
  require(::fstat(file.descriptor.get(), &status) == 0, "cannot read {}: {}", path,
          std::strerror(errno));
  require(S_ISREG(status.st_mode), "cannot read {}: not a file{}", path, kind_of(status.st_mode));
  file.bytes = status.st_size;
  return file;
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  OpenedFile file = open_regular_file(path_);
  descriptor_ = std::move(file.descriptor);
  bytes_ = file.bytes;
}

void InputFile::read_at(std::int64_t offset, void* destination, std::int64_t bytes) const {
  char* next = static_cast<char*>(destination);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_.get(), next, static_cast<std::size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, "cannot read {}: {}", path_, std::strerror(errno));
    require(got > 0, "{}: truncated while it was read", path_);
    next += got;
    offset += got;
    bytes -= got;
  }
}

std::string InputFile::head(std::int64_t most) const {
  std::string bytes(static_cast<std::size_t>(std::min(most, bytes_)), '\0');
  read_at(0, bytes.data(), static_cast<std::int64_t>(bytes.size()));
  return bytes;
}

}  // namespace twill
