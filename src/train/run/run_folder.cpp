// SPDX-License-Identifier: Apache-2.0
#include "train/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/require.h"
#include "io/atomic_file.h"
#include "io/config/toml_config.h"
#include "io/paths.h"
#include "train/run/checkpoint.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

RunFolder::RunFolder(std::string path, std::string checkpoint)
    : path_(std::move(path)), checkpoint_(std::move(checkpoint)) {}

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
  for (const std::string& path : {fmt::format("{}/{}", runs_dir, given), given}) {
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
  fail("no run named {}: neither {}/{} nor {} holds a config.toml", run, runs_dir, given, given);
}

std::string RunFolder::name() const {
  std::error_code error;
  const fs::path whole = fs::canonical(path_, error);  // "." has a name too
  return (error ? fs::path(path_) : whole).filename().string();
}

void RunFolder::lock() {
  // The folder itself is locked: no file of ours lies in it for that, and the lock ends with us.
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_to_write("open", path_, errno);
  lock_ = std::shared_ptr<void>(nullptr, [descriptor](void*) { ::close(descriptor); });
  require(::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK,
          "run {} is being trained by another process; wait for it or stop it first", path_);
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
  return read_run_config(config_file(), overrides);
}

std::unique_ptr<Tokenizer> open_run_tokenizer(const RunFolder& folder, const RunConfig& config) {
  std::error_code ignored;
  const bool own = fs::is_directory(folder.tokenizer_dir(), ignored);
  return open_tokenizer_if_any(own ? folder.tokenizer_dir() : data_tokenizer(config.data));
}

void save_run_tokenizer(const RunFolder& folder, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return;
  const std::vector<TokenizerFile> files = tokenizer->files();
  if (files.empty()) return;
  const std::string temporary = folder.tokenizer_dir() + ".tmp";
  create_directories(temporary);
  for (const TokenizerFile& file : files) write_file(temporary + "/" + file.name, file.content);
  publish_directory(temporary, folder.tokenizer_dir());
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
