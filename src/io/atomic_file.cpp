// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

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
    case ELOOP:
      return "; it is a link, which is not followed here: put the file itself there";
    default:
      return "";
  }
}

// A file that was not there before: neither a link nor a file that others have open.
int open_new(const Folder& folder, const std::string& name) {
  constexpr int kTries = 8;  // somebody else would have to be as quick each time
  for (int left = kTries;; --left) {
    const int made = ::openat(folder.descriptor(), name.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (made >= 0 || errno != EEXIST || left == 0) return made;
    if (::unlinkat(folder.descriptor(), name.c_str(), 0) != 0 && errno != ENOENT) return -1;
  }
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().native();
}

const Folder& require_open(const std::optional<Folder>& folder, const std::string& path) {
  if (!folder) fail_to_write("write", path, errno);
  return *folder;
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

void sync_descriptor(int descriptor, const std::string& shown) {
  // Some file systems cannot sync a folder; what they could do, they did.
  if (::fsync(descriptor) != 0 && errno != EINVAL) fail_to_write("write", shown, errno);
}

void sync_path(const std::string& path, const std::string& shown) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.valid()) fail_to_write("write", shown, errno);
  sync_descriptor(descriptor.get(), shown);
}

std::vector<std::string> names_in(int descriptor) {
  // Opened anew: a copy of the descriptor would share its place in the list.
  const int again = ::openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = again < 0 ? nullptr : ::fdopendir(again);
  if (list == nullptr) return {};
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(list)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(list);
  return names;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().native();
  return folder.empty() ? "." : folder;
}

AtomicFile::AtomicFile(const std::optional<Folder>& folder, std::string name, std::string path)
    : folder_(require_open(folder, path)),
      name_(std::move(name)),
      temporary_(name_ + ".tmp"),
      path_(std::move(path)),
      descriptor_(open_new(folder_, temporary_)) {
  if (descriptor_ < 0) fail_to_write("write", path_, errno);
}

AtomicFile::AtomicFile(const std::string& path)
    : AtomicFile(Folder::try_open(folder_of(path)), name_of(path), path) {}

AtomicFile::AtomicFile(const Folder& folder, const std::string& name)
    : AtomicFile(std::optional(folder), name, folder.path() + "/" + name) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  if (is_ours()) ::unlinkat(folder_.descriptor(), temporary_.c_str(), 0);
  ::close(descriptor_);
}

bool AtomicFile::is_ours() const {
  struct stat made {
  }, named{};
  return ::fstat(descriptor_, &made) == 0 &&
         ::fstatat(folder_.descriptor(), temporary_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         made.st_dev == named.st_dev && made.st_ino == named.st_ino;
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
  require(is_ours(),
          "cannot write {}: another process removed or replaced {} meanwhile; see that only one "
          "writes there, and try again",
          path_, temporary_);
  const int folder = folder_.descriptor();
  if (::renameat(folder, temporary_.c_str(), folder, name_.c_str()) != 0)
    fail_to_write("write", path_, errno);
  // From here on the file is the final one: nothing is left to clean up.
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail_to_write("write", path_, errno);
  sync_descriptor(folder, path_);
}

void write_file(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

void write_file(const Folder& folder, const std::string& name, std::string_view content) {
  AtomicFile file(folder, name);
  file.write(content.data(), content.size());
  file.commit();
}

std::string read_all(int descriptor, const std::string& shown) {
  std::string content;
  char piece[1 << 16];
  for (;;) {
    const ssize_t bytes = ::read(descriptor, piece, sizeof piece);
    if (bytes < 0 && errno == EINTR) continue;
    require(bytes >= 0, "cannot read {}: {}", shown, std::strerror(errno));
    if (bytes == 0) return content;
    content.append(piece, static_cast<std::size_t>(bytes));
  }
}

std::string read_file(const std::string& path, std::uint64_t max_bytes) {
  const InputFile file(path);
  const auto bytes = static_cast<std::uint64_t>(file.num_bytes());
  require(bytes <= max_bytes, "cannot read {}: {} bytes are too many, expected at most {}", path,
          bytes, max_bytes);
  return file.head(file.num_bytes());
}

std::string read_file(const Folder& folder, const std::string& name) {
  return HeldFile(folder, name).read();
}

void create_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_to_write("create", path, error.value());
}

}  // namespace twill
