// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/require.h"
#include "io/descriptor.h"

namespace twill {

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  require(file.valid(), "cannot read {}: {}", path, std::strerror(errno));
  struct stat status {};
  require(::fstat(file.get(), &status) == 0, "cannot read {}: {}", path, std::strerror(errno));
  require(S_ISREG(status.st_mode), "cannot read {}: it is not a file", path);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // an empty file cannot be mapped and need not be
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  require(address != MAP_FAILED, "cannot read {}: {}", path, std::strerror(errno));
  data_ = static_cast<const char*>(address);
}

void MappedFile::release() const {
  if (size_ > 0) ::madvise(const_cast<char*>(data_), size_, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace twill
