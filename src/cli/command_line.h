// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace twill::cli {

// Reads the command line and runs the one command on it. Returns the exit code.
int parse_and_run(int argc, char** argv);

}  // namespace twill::cli
