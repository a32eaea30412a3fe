// SPDX-License-Identifier: Apache-2.0
#include "io/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/require.h"
#include "io/atomic_file.h"
#include "io/descriptor.h"
#include "io/folder_tree.h"

namespace twill {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// Of a file system that has no locks or a server that gives none: NFS without its daemon, some FUSE.
bool means_no_locks(int error) {
  return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

}  // namespace

Folder::Folder(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(std::make_shared<const Descriptor>(descriptor)) {}

std::optional<Folder> Folder::try_open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), kFolder);
  if (descriptor < 0) return std::nullopt;
  return Folder(path, descriptor);
}

Folder Folder::open(const std::string& path) {
  if (std::optional<Folder> found = try_open(path)) return *std::move(found);
  fail_to_write("open", path, errno);
}

Folder Folder::make(const std::string& name) const {
  const std::string inner = path_ + "/" + name;
  if (::mkdirat(descriptor(), name.c_str(), 0777) != 0 && errno != EEXIST)
    fail_to_write("create", inner, errno);
  const int opened = ::openat(descriptor(), name.c_str(), kFolder | O_NOFOLLOW);
  if (opened < 0 && (errno == ENOTDIR || errno == ELOOP))
    fail(
        "{} is no folder, or a link to one, and links in a run's folder are not followed; put the "
        "folder itself there",
        inner);
  if (opened < 0) fail_to_write("open", inner, errno);
  return {inner, opened};
}

int Folder::descriptor() const { return descriptor_->get(); }

bool Folder::is_at(const std::string& path) const {
  struct stat held {
  }, found{};
  if (::stat(path.c_str(), &found) != 0) return errno != ENOENT && errno != ENOTDIR;
  if (::fstat(descriptor(), &held) != 0) return true;
  return held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

bool Folder::has(const std::string& name) const {
  struct stat unused {};
  return ::fstatat(descriptor(), name.c_str(), &unused, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<std::string> Folder::names() const { return names_in(descriptor()); }

void Folder::rename(const std::string& from, const std::string& to) const {
  if (::renameat(descriptor(), from.c_str(), descriptor(), to.c_str()) != 0)
    fail_to_write("rename", path_ + "/" + from, errno);
}

void Folder::remove(const std::string& name) const { remove_tree(descriptor(), name); }

void Folder::sync() const { sync_descriptor(descriptor(), path_); }

HeldFile::HeldFile(const Folder& folder, const std::string& name)
    : path_(folder.path() + "/" + name),
      descriptor_(std::make_shared<const Descriptor>(::openat(
          folder.descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))) {
  require(descriptor_->valid(), "cannot read {}: {}", path_, std::strerror(errno));
}

std::string HeldFile::read() const {
  require(::lseek(descriptor_->get(), 0, SEEK_SET) == 0, "cannot read {}: {}", path_,
          std::strerror(errno));
  return read_all(descriptor_->get(), path_);
}

LockResult try_lock(const Folder& folder) {
  return try_lock(folder,
                  [](int descriptor, int operation) { return ::flock(descriptor, operation); });
}

LockResult try_lock(const Folder& folder, const LockCall& lock) {
  int result = 0;
  do {
    result = lock(folder.descriptor(), LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return LockResult::kTaken;
  if (errno == EWOULDBLOCK) return LockResult::kHeldByAnother;
  if (means_no_locks(errno)) return LockResult::kUnknown;
  fail("cannot lock {}: {}", folder.path(), std::strerror(errno));
}

}  // namespace twill
