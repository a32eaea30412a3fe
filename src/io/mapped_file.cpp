// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/require.h"
#include "io/input_file.h"

namespace twill {
namespace {

// All mapped files, for mapped_path_at(). A signal handler takes this lock, so it must be one that
// waits without the system; nothing that could fault is touched while it is held.
std::atomic_flag list_is_locked;
MappedFile* first_mapped = nullptr;

class ListLock {
 public:
  ListLock() {
    while (list_is_locked.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~ListLock() { list_is_locked.clear(std::memory_order_release); }
  ListLock(const ListLock&) = delete;
  ListLock& operator=(const ListLock&) = delete;
};

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const OpenedFile file = open_regular_file(path_);
  if (file.bytes == 0) return;  // an empty file cannot be mapped and need not be
  const auto size = static_cast<std::size_t>(file.bytes);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor.get(), 0);
  require(address != MAP_FAILED, "cannot read {}: {}", path_, std::strerror(errno));
  data_ = static_cast<const char*>(address);
  size_ = size;
  const ListLock lock;
  next_ = first_mapped;
  first_mapped = this;
}

void MappedFile::release() const {
  if (size_ > 0) ::madvise(const_cast<char*>(data_), size_, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (size_ == 0) return;
  {
    const ListLock lock;
    MappedFile** link = &first_mapped;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
  }
  ::munmap(const_cast<char*>(data_), size_);
}

const char* mapped_path_at(const void* address) {
  const char* place = static_cast<const char*>(address);
  const ListLock lock;
  for (const MappedFile* file = first_mapped; file != nullptr; file = file->next_)
    if (place >= file->data_ && place < file->data_ + file->size_) return file->path_.c_str();
  return nullptr;
}

}  // namespace twill
