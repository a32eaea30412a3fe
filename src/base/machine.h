// SPDX-License-Identifier: Apache-2.0
// The machine as its system describes it. What the system does not tell is empty or 0.
#pragma once

#include <cstdint>
#include <string>

namespace twill {

std::string cpu_name();            // "INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.10GHz"
int num_processors();              // of the machine, used by this process or not
std::int64_t memory_bytes();       // of the machine
std::string system_name();         // "Linux 6.1.0-13-amd64 x86_64"
std::string nvidia_driver_name();  // "580.95.05"

}  // namespace twill
