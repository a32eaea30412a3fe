// SPDX-License-Identifier: Apache-2.0
#include "base/cache_folder.h"

#include <cstdlib>

namespace twill {
namespace {

namespace fs = std::filesystem;

fs::path set_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

}  // namespace

fs::path cache_folder() {
  if (fs::path own = set_variable("TWILL_CACHE"); !own.empty()) return own;
  if (fs::path cache = set_variable("XDG_CACHE_HOME"); !cache.empty()) return cache / "twill";
  if (fs::path home = set_variable("HOME"); !home.empty()) return home / ".cache" / "twill";
  return {};
}

}  // namespace twill
