// SPDX-License-Identifier: Apache-2.0
// facts.json of a run folder: what one has to know, besides the config, to make or to judge the same run
// again. The program and the machine, the resolved config, how the layers run, what memory was asked
// for; and for every resume the program, the machine and the step. docs/run_folder.md lists the members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/run/run_folder.h"
#include "train/run/training_run.h"

namespace twill {

// What a process knows of its run before the first step.
struct KnownFacts {
  const Context& context;
  const RunConfig& config;
  const RunFacts& run;
  const Plan* plan = nullptr;  // of a sparse recipe
  const std::vector<std::string>& arguments;
};

// Of a new run.
void write_facts(RunFolder& folder, const KnownFacts& known);

// Adds an entry to "resumes": this process goes on behind `step`. A file that is missing or no JSON is
// written anew, without the start that nobody knows, the latter with a warning.
void add_resume(RunFolder& folder, const KnownFacts& known, std::int64_t step);

}  // namespace twill
