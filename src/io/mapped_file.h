// SPDX-License-Identifier: Apache-2.0
// A file in the address space, read only. Pages come from the disk when they are touched, so a file
// may be larger than the memory. A file must not shrink while it is mapped: the system sends
// SIGBUS to a process that touches what is gone, and only mapped_path_at() can then say which file it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace twill {

class MappedFile {
 public:
  // Throws `cannot read x: …`, also for what is not a regular file.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {data_, size_}; }
  // Gives the pages read so far back: they no longer count as this process's memory, and come again
  // when they are touched.
  void release() const;

 private:
  friend const char* mapped_path_at(const void* address);

  std::string path_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  MappedFile* next_ = nullptr;
};

// The path of the mapped file that holds the address; nullptr where there is none. For the handler of
// a signal: it neither allocates nor waits for anything that could fault.
const char* mapped_path_at(const void* address);

}  // namespace twill
