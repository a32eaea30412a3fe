// SPDX-License-Identifier: Apache-2.0
// What the process holds in memory, as the kernel sees it.
#pragma once

#include <cstdint>

namespace twill {

std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

}  // namespace twill
