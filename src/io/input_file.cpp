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

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // NONBLOCK: opening a pipe would wait for its writer. It changes nothing for files.
  descriptor_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  require(descriptor_.valid(), "cannot read {}: {}", path_, std::strerror(errno));
  struct stat status {};
  require(::fstat(descriptor_.get(), &status) == 0, "cannot read {}: {}", path_,
          std::strerror(errno));
  require(S_ISREG(status.st_mode), "cannot read {}: not a file", path_);
  bytes_ = status.st_size;
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
