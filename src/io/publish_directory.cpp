// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "io/atomic_file.h"
#include "io/descriptor.h"
#include "io/folder.h"
#include "io/folder_tree.h"

namespace twill {
namespace {

// Both names are found from `folder`; with AT_FDCWD they may be paths. Errors name `shown`.
struct Publication {
  int folder;
  const std::string& temporary;
  const std::string& final_name;
  const std::string& shown;

  bool rename(const std::string& from, const std::string& to) const {
    return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0;
  }
};

// Exchanges the two names in one step where the file system can, so that there is no moment without
// a folder of the final name. Afterwards the temporary holds the old content.
void replace(const Publication& it) {
  if (::renameat2(it.folder, it.temporary.c_str(), it.folder, it.final_name.c_str(),
                  RENAME_EXCHANGE) == 0)
    return;
  const std::string old = it.final_name + ".old";
  remove_tree(it.folder, old);
  if (!it.rename(it.final_name, old)) fail_to_write("write", it.shown, errno);
  if (!it.rename(it.temporary, it.final_name)) {
    const int error = errno;
    (void)it.rename(old, it.final_name);  // what was there is better than nothing
    fail_to_write("write", it.shown, error);
  }
  if (!it.rename(old, it.temporary)) fail_to_write("write", it.shown, errno);
}

void publish(const Publication& it) {
  try {
    sync_tree(it.folder, it.temporary, it.shown);
    struct stat unused {};
    if (::fstatat(it.folder, it.final_name.c_str(), &unused, AT_SYMLINK_NOFOLLOW) == 0)
      replace(it);
    else if (!it.rename(it.temporary, it.final_name))
      fail_to_write("write", it.shown, errno);
  } catch (...) {
    remove_tree(it.folder, it.temporary);
    throw;
  }
}

}  // namespace

void publish_directory(const std::string& temporary, const std::string& final_path) {
  publish({AT_FDCWD, temporary, final_path, final_path});
  sync_path(folder_of(final_path), final_path);
  remove_tree(AT_FDCWD, temporary);  // the old content, if there was one
}

void publish_directory(const Folder& folder, const std::string& temporary,
                       const std::string& name) {
  publish({folder.descriptor(), temporary, name, folder.path() + "/" + name});
  folder.sync();
  folder.remove(temporary);
}

}  // namespace twill
