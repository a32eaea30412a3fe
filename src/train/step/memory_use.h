// SPDX-License-Identifier: Apache-2.0
// What the process holds in memory, as the kernel sees it.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/builder.h"

namespace twill {

std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();
// What the machine could still give without swapping.
std::int64_t available_bytes();

// Throws twill::Error when the table asks for more than the context's memory can give.
void require_memory(const Context& context, const std::vector<MemoryLine>& table);

}  // namespace twill
