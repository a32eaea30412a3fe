// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace twill {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

int num_processors() { return static_cast<int>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 0L)); }

std::int64_t memory_bytes() {
  const auto pages = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto bytes = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  return pages > 0 && bytes > 0 ? pages * bytes : 0;
}

std::string system_name() {
  utsname name{};
  if (::uname(&name) != 0) return {};
  const auto text = [](const char* part) { return std::string(part); };
  return text(name.sysname) + " " + text(name.release) + " " + text(name.machine);
}

std::string nvidia_driver_name() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  file >> version;
  return version;
}

}  // namespace twill
