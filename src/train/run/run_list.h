// SPDX-License-Identifier: Apache-2.0
// The runs of a folder, and what can be removed of them without losing what they can go on from.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "train/run/run_folder.h"

namespace twill {

struct RunSummary {
  std::string name;
  std::string path;
  std::string problem;  // why its config cannot be read; then only what follows `bytes` is known
  std::string recipe;
  std::string model;
  std::int64_t parameters = 0;
  std::int64_t step = 0;                  // where its metrics end; of an imported run 0
  std::int64_t steps = 0;                 // of the config
  std::optional<double> validation_loss;  // the last one
  std::int64_t bytes = 0;                 // on disk
  std::time_t changed = 0;                // the newest of its files
  bool is_training = false;               // a process holds it
};

// All runs of the folder, the one that changed last at the end. A missing folder has none.
std::vector<RunSummary> list_runs(const std::string& runs_dir);
RunSummary summarise_run(const RunFolder& run);

// What a run can do without: checkpoints before the latest one, those that a resume from an earlier
// one has set aside, and leftovers of killed processes. A latest checkpoint that is damaged stays
// beside the newest good one.
struct Prunable {
  std::vector<std::string> paths;
  std::int64_t bytes = 0;
};
Prunable find_prunable(const RunFolder& run);

// Removes what find_prunable() names, and returns the bytes. Throws twill::Error where another
// process trains the run; nothing is removed then.
std::int64_t prune(RunFolder& run);

}  // namespace twill
