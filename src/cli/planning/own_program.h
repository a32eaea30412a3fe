// SPDX-License-Identifier: Apache-2.0
// This very program once more, with other arguments: beside this process, or in its place.
#pragma once

#include <string>
#include <vector>

namespace twill::cli {

// Waits for it; on this process's terminal, and with no signal blocked. The exit code, or 128 and the signal that
// ended it. Throws twill::Error where it cannot be started.
int run_this_program(const std::vector<std::string>& arguments);

// Ends this process, or throws twill::Error and has changed nothing.
[[noreturn]] void become_this_program(const std::vector<std::string>& arguments);

}  // namespace twill::cli
