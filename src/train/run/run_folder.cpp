// SPDX-License-Identifier: Apache-2.0
#include "train/run/run_folder.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/require.h"
#include "io/atomic_file.h"
#include "io/config/toml_config.h"
#include "io/paths.h"
#include "train/run/checkpoint.h"
#include "train/run/make_plan.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

// A run of before called auto what is fastest now: its plan tells. A plan that cannot be read is the business of
// whoever trains by it.
bool is_of_fastest_plan(const std::string& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return false;
  try {
    return !TomlDocument::parse_file(file).has("format") &&
           read_plan(file).execution == Execution::kFastest;
  } catch (const Error&) {
    return false;
  }
}

// mkdir tells "made by me" from "was there", also between two programs that start together.
bool make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) fail_to_write("create", path, errno);
  return false;
}

void require_name(const std::string& name) {
  require(name.find('/') == std::string::npos,
          "run.name = \"{}\" must not contain '/'; the folder of the runs is run.dir", name);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  require(name != "." && name != ".." && std::ranges::none_of(name, is_control),
          "run.name = \"{}\" is no name for a folder; use letters, digits, '-' and '_'", name);
}

// False also when the folder cannot be read.
bool is_empty_folder(const std::string& path) {
  std::error_code error;
  return fs::is_empty(path, error) && !error;
}

bool is_run(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path + "/config.toml", ignored);
}

// Without links, so that it can be compared and named later, from anywhere.
std::string whole_path(const std::string& path) {
  std::error_code error;
  fs::path whole = fs::canonical(path, error);
  if (error) whole = fs::absolute(path, error);
  return error ? path : whole.string();
}

constexpr const char* kConfig = "config.toml";
constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kTokenizer = "tokenizer";
constexpr std::string_view kInTokenizer = "tokenizer/";

}  // namespace

RunFolder::RunFolder(std::string path, std::string checkpoint)
    : path_(std::move(path)),
      absolute_(whole_path(path_)),
      checkpoint_(std::move(checkpoint)),
      folder_(Folder::try_open(path_)) {}

RunFolder RunFolder::create(const RunConfig& config) {
  require_name(config.run.name);
  create_directories(config.run.dir);
  if (!config.run.name.empty()) {
    const std::string path = config.run.dir + "/" + config.run.name;
    // An empty folder is what a start killed in its first moment leaves behind.
    require(make_folder(path) || is_empty_folder(path),
            "run {} exists already; continue it with --resume {} or choose another run.name", path,
            shell_quoted(path));
    return RunFolder(path);
  }
  for (int number = 1;; ++number) {
    const std::string path =
        fmt::format("{}/{}-{:03}", config.run.dir, config.model.family, number);
    if (make_folder(path)) return RunFolder(path);
  }
}

std::optional<RunFolder> RunFolder::find(const std::string& run, const std::string& runs_dir) {
  const std::string given = without_trailing_slash(run);
  // What begins at the root is no name in runs_dir.
  std::vector<std::string> paths{given};
  if (!fs::path(given).is_absolute()) paths.insert(paths.begin(), runs_dir + "/" + given);
  for (const std::string& path : paths) {
    if (is_run(path)) return RunFolder(path);
    std::error_code ignored;
    if (step_of(path) < 0 || !fs::is_directory(path, ignored)) continue;
    const std::string above = fs::path(path).parent_path().parent_path().string();
    const std::string folder = above.empty() ? "." : above;
    if (is_run(folder)) return RunFolder(folder, path);
  }
  return std::nullopt;
}

RunFolder RunFolder::open(const std::string& run, const std::string& runs_dir) {
  if (std::optional<RunFolder> found = find(run, runs_dir)) return *std::move(found);
  const std::string given = without_trailing_slash(run);
  require(!fs::path(given).is_absolute(), "no run named {}: it holds no config.toml", run);
  fail("no run named {}: neither {}/{} nor {} holds a config.toml", run, runs_dir, given, given);
}

std::string RunFolder::name() const {
  std::error_code error;
  const fs::path whole = fs::canonical(path_, error);  // "." has a name too
  return (error ? fs::path(path_) : whole).filename().string();
}

void RunFolder::lock() {
  lock([](int descriptor, int operation) { return ::flock(descriptor, operation); });
}

void RunFolder::lock(const LockCall& call) {
  // The folder itself is locked: no file of ours lies in it for that, and the lock ends with us.
  folder_ = held();
  const LockResult result = try_lock(*folder_, call);
  require(result != LockResult::kHeldByAnother,
          "run {} is being trained by another process; wait for it or stop it first", path_);
  if (result == LockResult::kUnknown)
    log_warning(
        fmt::format("{} cannot be locked ({}): see that no other process trains this run, "
                    "for neither would notice",
                    path_, std::strerror(errno)));
  require(folder_->is_at(absolute_), "run {} was deleted or replaced just now; start again", path_);
  keep_files();
}

Folder RunFolder::held() const { return folder_ ? *folder_ : Folder::open(path_); }

void RunFolder::write(const std::string& name, std::string_view content) {
  write_file(held(), name, content);
  kept_[name] = content;
}

void RunFolder::write_tokenizer(const std::vector<TokenizerFile>& files) {
  const std::string temporary = std::string(kTokenizer) + ".tmp";
  held().remove(temporary);
  const Folder inside = held().make(temporary);
  for (const TokenizerFile& file : files) {
    write_file(inside, file.name, file.content);
    kept_[std::string(kInTokenizer) + file.name] = file.content;
  }
  publish_directory(held(), temporary, kTokenizer);
}

void RunFolder::hold_metrics() { metrics_.emplace(held(), kMetrics); }

// A file that cannot be read would be missing beside: no reason not to train.
void RunFolder::keep_files() {
  const auto keep = [&](const Folder& folder, const std::string& name, const std::string& kept) {
    try {
      kept_[kept] = read_file(folder, name);
    } catch (const Error&) {
      kept_.erase(kept);
    }
  };
  for (const char* name : {kConfig, "facts.json", "plan.toml", "choices.txt"})
    if (held().has(name)) keep(held(), name, name);
  const std::optional<Folder> tokenizer = Folder::try_open(tokenizer_dir());
  if (!tokenizer) return;
  for (const std::string& name : tokenizer->names())
    keep(*tokenizer, name, std::string(kInTokenizer) + name);
}

bool RunFolder::is_whole() const { return held().is_at(absolute_) && held().has(kConfig); }

RunFolder RunFolder::make_beside() const {
  create_directories(fs::path(absolute_).parent_path().string());
  std::string path = absolute_ + "-rescued";
  for (int number = 2; !make_folder(path); ++number)
    path = fmt::format("{}-rescued-{}", absolute_, number);
  RunFolder beside(path);
  beside.lock();
  std::vector<TokenizerFile> tokenizer;
  for (const auto& [name, content] : kept_)
    if (name.starts_with(kInTokenizer))
      tokenizer.push_back({name.substr(kInTokenizer.size()), content});
    else
      beside.write(name, content);
  if (!tokenizer.empty()) beside.write_tokenizer(tokenizer);
  if (metrics_) beside.write(kMetrics, metrics_->read());
  return beside;
}

// While somebody deletes a folder, files in it are gone before it is.
bool RunFolder::stays_whole() const {
  constexpr int kLooks = 5;
  for (int look = 0; look < kLooks && is_whole(); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return is_whole();
}

std::optional<std::string> RunFolder::save_here(const SaveRun& write) {
  const auto saved = [&]() -> std::optional<std::string> {
    std::string path = write(*this);
    return is_whole() && path_exists(path) ? std::optional(std::move(path)) : std::nullopt;
  };
  if (!is_whole()) return std::nullopt;
  try {
    return saved();
  } catch (const Error&) {
    if (!stays_whole()) return std::nullopt;
  }
  // What was in the way may be over; an error that stays is the caller's.
  return saved();
}

std::string RunFolder::save_with(const SaveRun& write) {
  if (std::optional<std::string> path = save_here(write)) return *std::move(path);
  RunFolder beside = make_beside();
  write(beside);
  fail(
      "the folder of run {} was deleted or replaced while it was trained; the run as it stands is "
      "saved in {}: go on with --resume {}",
      path_, beside.path(), shell_quoted(beside.path()));
}

std::string RunFolder::checkpoint() const {
  if (!checkpoint_.empty()) return checkpoint_;
  const std::vector<std::string> all = list_checkpoints(checkpoints());
  return all.empty() ? std::string() : all.back();
}

std::string RunFolder::require_checkpoint() const {
  std::string found = checkpoint();
  require(!found.empty(), "run {} has no checkpoint yet; train it with --resume {}", path_,
          shell_quoted(path_));
  return found;
}

RunConfig RunFolder::read_config(const std::vector<std::string>& overrides) const {
  RunConfig config = read_run_config(config_file(), overrides);
  if (config.recipe.execution == Execution::kAuto && is_of_fastest_plan(plan_file()))
    config.recipe.execution = Execution::kFastest;
  return config;
}

std::unique_ptr<Tokenizer> open_run_tokenizer(const RunFolder& folder, const RunConfig& config) {
  std::error_code ignored;
  const bool own = fs::is_directory(folder.tokenizer_dir(), ignored);
  return open_tokenizer_if_any(own ? folder.tokenizer_dir() : data_tokenizer(config.data));
}

void save_run_tokenizer(RunFolder& folder, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return;
  const std::vector<TokenizerFile> files = tokenizer->files();
  if (!files.empty()) folder.write_tokenizer(files);
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace twill
