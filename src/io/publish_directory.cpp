// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "io/atomic_file.h"
#include "io/descriptor.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

void sync_tree(const std::string& folder, const std::string& shown) {
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::end(it);
       it.increment(error))
    sync_path(it->path().native(), shown);
  if (error) fail_to_write("write", shown, error.value());
  sync_path(folder, shown);
}

// Exchanges the two names in one step where the file system can, so that there is no moment without
// a folder called `final_path`. Afterwards `temporary` holds the old content.
void replace(const std::string& temporary, const std::string& final_path) {
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final_path.c_str(), RENAME_EXCHANGE) == 0)
    return;
  const std::string old = final_path + ".old";
  std::error_code ignored;
  fs::remove_all(old, ignored);
  if (::rename(final_path.c_str(), old.c_str()) != 0) fail_to_write("write", final_path, errno);
  if (::rename(temporary.c_str(), final_path.c_str()) != 0) {
    const int error = errno;
    (void)::rename(old.c_str(), final_path.c_str());  // what was there is better than nothing
    fail_to_write("write", final_path, error);
  }
  if (::rename(old.c_str(), temporary.c_str()) != 0) fail_to_write("write", final_path, errno);
}

void rename_into_place(const std::string& temporary, const std::string& final_path) {
  std::error_code ignored;
  if (fs::exists(final_path, ignored))
    replace(temporary, final_path);
  else if (::rename(temporary.c_str(), final_path.c_str()) != 0)
    fail_to_write("write", final_path, errno);
}

}  // namespace

void publish_directory(const std::string& temporary, const std::string& final_path) {
  std::error_code ignored;
  try {
    sync_tree(temporary, final_path);
    rename_into_place(temporary, final_path);
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
  sync_path(folder_of(final_path), final_path);
  fs::remove_all(temporary, ignored);  // the old content, if there was one
}

}  // namespace twill
