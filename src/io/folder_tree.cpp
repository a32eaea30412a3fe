// SPDX-License-Identifier: Apache-2.0
#include "io/folder_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "io/atomic_file.h"
#include "io/descriptor.h"

namespace twill {

void sync_tree(int folder, const std::string& name, const std::string& shown) {
  const Descriptor entry(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!entry.valid() && errno == ELOOP) return;  // a link lies in its folder, which is synced
  if (!entry.valid()) fail_to_write("write", shown, errno);
  for (const std::string& inner : names_in(entry.get())) sync_tree(entry.get(), inner, shown);
  sync_descriptor(entry.get(), shown);
}

void remove_tree(int folder, const std::string& name) {
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return;
  const Descriptor inside(
      ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inside.valid()) return;
  for (const std::string& inner : names_in(inside.get())) remove_tree(inside.get(), inner);
  (void)::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
}

}  // namespace twill
