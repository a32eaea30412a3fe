// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/require.h"
#include "io/descriptor.h"
#include "io/input_file.h"

namespace twill {
namespace {

// What the user can do about an errno value.
std::string_view remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space or choose another disk (run.dir or --out)";
    case EFBIG:
      return "; raise the limit on the size of files (ulimit -f), or choose a disk that takes such "
             "files (run.dir or --out)";
    case EROFS:
    case EACCES:
    case EPERM:
      return "; choose a folder you can write to (run.dir or --out)";
    case ENOENT:
      return "; create the folder first";
    default:
      return "";
  }
}

}  // namespace

void fail_to_write(std::string_view action, const std::string& path, int error) {
  fail("cannot {} {}: {}{}", action, path, std::strerror(error), remedy(error));
}

void write_all(int descriptor, const void* data, std::size_t bytes, const std::string& path) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to_write("write", path, errno);
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void sync_path(const std::string& path, const std::string& shown) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // Some file systems cannot sync a folder; what they could do, they did.
  if (!descriptor.valid() || (::fsync(descriptor.get()) != 0 && errno != EINVAL))
    fail_to_write("write", shown, errno);
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().native();
  return folder.empty() ? "." : folder;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".tmp") {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_to_write("write", path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  write_all(descriptor_, data, bytes, path_);
}

void AtomicFile::patch(std::int64_t offset, const void* data, std::size_t bytes) {
  const ssize_t written = ::pwrite(descriptor_, data, bytes, offset);
  if (written < 0) fail_to_write("write", path_, errno);
  require(static_cast<std::size_t>(written) == bytes, "cannot write {}: short write", path_);
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail_to_write("write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_to_write("write", path_, errno);
  // From here on the file is the final one: nothing is left to clean up.
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail_to_write("write", path_, errno);
  sync_path(folder_of(path_), path_);
}

void write_file(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

std::string read_file(const std::string& path, std::uint64_t max_bytes) {
  const InputFile file(path);
  const auto bytes = static_cast<std::uint64_t>(file.num_bytes());
  require(bytes <= max_bytes, "cannot read {}: {} bytes are too many, expected at most {}", path,
          bytes, max_bytes);
  return file.head(file.num_bytes());
}

void create_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_to_write("create", path, error.value());
}

}  // namespace twill
