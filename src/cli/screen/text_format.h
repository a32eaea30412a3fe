// SPDX-License-Identifier: Apache-2.0
// Numbers and hints as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/builder.h"

namespace twill::cli {

// What the user typed to get here: the launcher tells (./twill), else "twill".
std::string command_name();

std::string format_bytes(std::int64_t bytes);  // 1.25 GiB
std::string format_count(double count);        // 124 M, 25.3 k
std::string format_duration(double seconds);   // 1:02:03, 4:05

// One line per region and the sum. With the table of the same run trained dense: what each region
// has more or less than that, and what was added and saved in all.
std::string format_memory(const std::vector<MemoryLine>& table,
                          const std::vector<MemoryLine>& dense = {});

}  // namespace twill::cli
