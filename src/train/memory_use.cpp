// SPDX-License-Identifier: Apache-2.0
#include "train/memory_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>

#include "base/require.h"

namespace twill {

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total_pages = 0, resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * ::sysconf(_SC_PAGESIZE);
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::int64_t available_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key, unit; meminfo >> key;) {
    std::int64_t kibibytes = 0;
    meminfo >> kibibytes;
    std::getline(meminfo, unit);
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return std::numeric_limits<std::int64_t>::max();  // unknown: let the kernel decide
}

void require_memory(const std::vector<MemoryLine>& table) {
  std::int64_t needed = 0;
  for (const MemoryLine& line : table) needed += line.bytes;
  const std::int64_t available = available_bytes();
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  require(needed <= available,
          "the model and its batch need {:.1f} GiB, {:.1f} GiB are free; lower train.micro_batch, "
          "train.sequence or the size of the model",
          gib(needed), gib(available));
}

}  // namespace twill
