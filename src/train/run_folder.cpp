// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/require.h"
#include "io/atomic_file.h"
#include "io/toml_config.h"
#include "train/checkpoint.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

// mkdir tells "made by me" from "was there", also between two programs that start together.
bool make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) fail_to_write("create", path, errno);
  return false;
}

std::string without_trailing_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool is_run(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path + "/config.toml", ignored);
}

}  // namespace

RunFolder::RunFolder(std::string path, std::string checkpoint)
    : path_(std::move(path)), checkpoint_(std::move(checkpoint)) {}

RunFolder RunFolder::create(const RunConfig& config) {
  require(config.run.name.find('/') == std::string::npos,
          "run.name = \"{}\" must not contain '/'; the folder of the runs is run.dir",
          config.run.name);
  create_directories(config.run.dir);
  if (!config.run.name.empty()) {
    const std::string path = config.run.dir + "/" + config.run.name;
    // An empty folder is what a start killed in its first moment leaves behind.
    require(make_folder(path) || fs::is_empty(path),
            "run {} exists already; continue it with --resume {} or choose another run.name", path,
            config.run.name);
    return RunFolder(path);
  }
  for (int number = 1;; ++number) {
    const std::string path =
        fmt::format("{}/{}-{:03}", config.run.dir, config.model.family, number);
    if (make_folder(path)) return RunFolder(path);
  }
}

RunFolder RunFolder::open(const std::string& run, const std::string& runs_dir) {
  const std::string given = without_trailing_slash(run);
  for (const std::string& path : {fmt::format("{}/{}", runs_dir, given), given}) {
    if (is_run(path)) return RunFolder(path);
    if (step_of(path) < 0 || !fs::is_directory(path)) continue;
    const std::string above = fs::path(path).parent_path().parent_path().string();
    const std::string folder = above.empty() ? "." : above;
    if (is_run(folder)) return RunFolder(folder, path);
  }
  fail("no run named {}: neither {}/{} nor {} holds a config.toml", run, runs_dir, given, given);
}

std::string RunFolder::name() const { return fs::path(path_).filename().string(); }

std::string RunFolder::checkpoint() const {
  if (!checkpoint_.empty()) return checkpoint_;
  const std::vector<std::string> all = list_checkpoints(checkpoints());
  return all.empty() ? std::string() : all.back();
}

std::string RunFolder::require_checkpoint() const {
  std::string found = checkpoint();
  require(!found.empty(), "run {} has no checkpoint yet; train it with --resume {}", path_, path_);
  return found;
}

RunConfig RunFolder::read_config(const std::vector<std::string>& overrides) const {
  return read_run_config(config_file(), overrides);
}

}  // namespace twill
