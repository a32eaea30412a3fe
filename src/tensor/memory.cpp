// SPDX-License-Identifier: Apache-2.0
#include "tensor/memory.h"

#include <sys/mman.h>

#include <string>

#include "base/require.h"

namespace twill {
namespace {

// Pages straight from the kernel: zeroed, page aligned, returned at once on release. Huge pages,
// where the kernel grants them, save TLB misses on operands of many megabytes.
std::byte* map_pages(std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  void* data = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(data != MAP_FAILED,
          "out of memory: could not reserve {} MiB; use a smaller train.micro_batch or model",
          bytes >> 20);
  constexpr std::int64_t kHugePage = 2 << 20;
  if (bytes >= kHugePage) ::madvise(data, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

void unmap_pages(std::byte* data, std::int64_t bytes) {
  if (data != nullptr) ::munmap(data, static_cast<std::size_t>(bytes));
}

}  // namespace

const Memory& host_memory() {
  static constexpr Memory kHost{map_pages, unmap_pages};
  return kHost;
}

}  // namespace twill
