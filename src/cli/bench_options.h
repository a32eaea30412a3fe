// SPDX-License-Identifier: Apache-2.0
// What `twill bench` takes. It has one list of options for all it measures; help shows those of the
// part that is asked for.
#pragma once

#include <span>
#include <string>

#include "cli/commands.h"

namespace CLI {
class App;
}

namespace twill::cli {

void describe_bench(CLI::App& app, BenchCommand& command);

// Hides from the help of `twill bench WHAT --help` what belongs to others. `words` is the line.
void narrow_bench_help(CLI::App& app, std::span<const std::string> words);

}  // namespace twill::cli
