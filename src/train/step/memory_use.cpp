// SPDX-License-Identifier: Apache-2.0
#include "train/step/memory_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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

namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

// What a container's limit leaves; version 2 control groups.
std::int64_t cgroup_bytes() {
  std::ifstream limit_file("/sys/fs/cgroup/memory.max"), used_file("/sys/fs/cgroup/memory.current");
  std::int64_t limit = 0, used = 0;
  if (!(limit_file >> limit) || !(used_file >> used)) return kUnknown;  // no limit reads "max"
  return std::max<std::int64_t>(0, limit - used);
}

std::int64_t machine_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key, unit; meminfo >> key;) {
    std::int64_t kibibytes = 0;
    meminfo >> kibibytes;
    std::getline(meminfo, unit);
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return kUnknown;  // let the kernel decide
}

}  // namespace

std::int64_t available_bytes() { return std::min(machine_bytes(), cgroup_bytes()); }

void require_memory(const Context& context, const std::vector<MemoryLine>& table) {
  std::int64_t needed = 0;
  for (const MemoryLine& line : table) needed += line.bytes;
  const KernelTable& kernels = context.kernels();
  const bool is_host = kernels.free_bytes == nullptr;
  const std::int64_t available = is_host ? available_bytes() : kernels.free_bytes();
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  std::string largest;
  for (const MemoryLine& line : table)
    largest +=
        fmt::format("{}{} {:.1f}", largest.empty() ? "" : ", ", line.region, gib(line.bytes));
  require(needed <= available,
          "the model and its batch need {:.1f} GiB ({}), {:.1f} GiB {}are free; lower "
          "train.micro_batch, train.sequence or the size of the model, or trade time for memory "
          "with train.recompute=block (nothing else changes)",
          gib(needed), largest, gib(available), is_host ? "" : "of the GPU ");
}

}  // namespace twill
