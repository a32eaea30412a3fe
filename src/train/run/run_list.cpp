// SPDX-License-Identifier: Apache-2.0
#include "train/run/run_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/atomic_file.h"
#include "io/folder.h"
#include "models/model_config.h"
#include "train/run/checkpoint.h"
#include "train/run/run_metrics.h"
#include "twill/error.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

struct DiskUse {
  std::int64_t bytes = 0;
  std::time_t changed = 0;
};

void add_file(DiskUse& use, const fs::path& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || S_ISDIR(facts.st_mode)) return;
  use.bytes += static_cast<std::int64_t>(facts.st_size);
  use.changed = std::max(use.changed, facts.st_mtime);
}

// A run may be written to while it is looked at: what has gone counts nothing.
DiskUse disk_use(const std::string& path) {
  DiskUse use;
  add_file(use, path);
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(
           path, fs::directory_options::skip_permission_denied, error);
       !error && it != fs::end(it); it.increment(error))
    add_file(use, it->path());
  return use;
}

// Asks and lets go at once: whoever wants to train the run finds it free.
bool is_held(const RunFolder& run) {
  try {
    const std::optional<Folder> own = Folder::try_open(run.path());
    return own && try_lock(*own) == LockResult::kHeldByAnother;
  } catch (const Error&) {
    return true;
  }
}

bool is_good(const std::string& checkpoint) {
  const CheckpointFiles needed =
      imported_from(checkpoint).empty() ? CheckpointFiles::kModelAndState : CheckpointFiles::kModel;
  return find_damage(checkpoint, needed).empty();
}

// Names that Twill gives. What a person has copied has another one.
constexpr std::string_view kUnfinished = ".unfinished-", kReplaced = "replaced-";

// step-…, and with something in front of it what a resume has set aside or a killed process has left.
bool is_of_a_checkpoint(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  while (name.starts_with(kUnfinished)) name.erase(0, kUnfinished.size());
  if (name.starts_with(kReplaced)) name.erase(0, kReplaced.size());
  return step_of(name) >= 0;
}

// Hidden first: a process killed while removing leaves no half checkpoint under a good name, and the next
// save clears away what begins so (checkpoint.cpp).
void remove_checkpoint(const fs::path& path) {
  const fs::path hidden = path.parent_path() / (".unfinished-" + path.filename().string());
  std::error_code error;
  fs::rename(path, hidden, error);
  if (!error) fs::remove_all(hidden, error);
  if (error) fail_to_write("remove", path.string(), error.value());
}

// Checkpoints that a run may need to go on from; the latest first.
std::vector<std::string> needed_checkpoints(const std::string& folder) {
  std::vector<std::string> all = list_checkpoints(folder);
  std::ranges::reverse(all);
  const auto good = std::ranges::find_if(all, is_good);
  if (good == all.end()) return all;
  std::vector<std::string> needed{*good};
  if (good != all.begin()) needed.push_back(all.front());
  return needed;
}

}  // namespace

RunSummary summarise_run(const RunFolder& run) {
  RunSummary summary;
  summary.name = run.name();
  summary.path = run.path();
  const DiskUse use = disk_use(run.path());
  summary.bytes = use.bytes;
  summary.changed = use.changed;
  summary.is_training = is_held(run);
  try {
    const RunConfig config = run.read_config();
    summary.recipe = config.recipe.name;
    summary.model = config.model.name;
    summary.parameters = num_parameters(config.model);
    summary.steps = config.train.steps;
    const MetricsSummary metrics = summarise_metrics(run.metrics_file());
    summary.step = std::max<std::int64_t>(metrics.last_step, 0);
    summary.validation_loss = metrics.last_validation_loss;
  } catch (const Error& error) {
    summary.problem = error.what();
  }
  return summary;
}

std::vector<RunSummary> list_runs(const std::string& runs_dir) {
  std::vector<RunSummary> runs;
  std::error_code error;
  for (auto it = fs::directory_iterator(runs_dir, error); !error && it != fs::end(it);
       it.increment(error))
    if (const auto run = RunFolder::find(it->path().string(), runs_dir);
        run && step_of(run->path()) < 0)
      runs.push_back(summarise_run(*run));
  std::ranges::sort(runs, {},
                    [](const RunSummary& run) { return std::pair(run.changed, run.name); });
  return runs;
}

Prunable find_prunable(const RunFolder& run) {
  const std::vector<std::string> needed = needed_checkpoints(run.checkpoints());
  Prunable found;
  std::error_code error;
  for (auto it = fs::directory_iterator(run.checkpoints(), error); !error && it != fs::end(it);
       it.increment(error)) {
    const std::string path = it->path().string();
    if (!is_of_a_checkpoint(path) || std::ranges::count(needed, path) > 0) continue;
    found.paths.push_back(path);
    found.bytes += disk_use(path).bytes;
  }
  std::ranges::sort(found.paths);
  return found;
}

std::int64_t prune(RunFolder& run) {
  run.lock();
  const Prunable found = find_prunable(run);
  for (const std::string& path : found.paths) remove_checkpoint(path);
  return found.bytes;
}

}  // namespace twill
