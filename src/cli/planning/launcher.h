// SPDX-License-Identifier: Apache-2.0
// Whether something else started this process as one of several: mpirun, srun, torchrun.
#pragma once

#include <functional>
#include <string>

namespace twill::cli {

// The value of an environment variable; nullptr where it is not set.
using Environment = std::function<const char*(const char* name)>;

// "mpirun", "srun", … by the variables that each sets for the processes it starts; empty: nobody did. A launcher
// counts its processes: one that replaced itself would be missed, or counted as failed.
std::string launcher_name(const Environment& environment);
std::string launcher_name();  // of this process

}  // namespace twill::cli
