// SPDX-License-Identifier: Apache-2.0
// Where bytes come from. A backend offers one of these; Tensor and Arena use it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace twill {

struct Memory {
  // 64-byte aligned (a cache line, an AVX-512 register), filled with zeros.
  std::byte* (*allocate)(std::int64_t bytes);
  void (*release)(std::byte* data, std::int64_t bytes);
};

// The host's own memory.
const Memory& host_memory();

}  // namespace twill
