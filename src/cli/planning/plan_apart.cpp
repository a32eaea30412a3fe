// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/plan_apart.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "base/cache_folder.h"
#include "base/log.h"
#include "base/require.h"
#include "cli/planning/own_program.h"
#include "io/atomic_file.h"
#include "io/config/toml_config.h"

namespace twill::cli {
namespace {

// In the folder of what is kept: without one nobody is asked to measure apart.
class TemporaryFile {
 public:
  TemporaryFile() : path_(std::filesystem::absolute(cache_folder() / "plan-XXXXXX").string()) {
    create_directories(cache_folder().string());
    file_ = ::mkstemp(path_.data());
    require(file_ >= 0, "cannot create {}: {}", path_, std::strerror(errno));
  }
  ~TemporaryFile() {
    ::close(file_);
    ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const std::string& content) const {
    write_all(file_, content.data(), content.size(), path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace

bool measure_plan_apart(const RunConfig& config) {
  int code = 0;
  std::string problem;
  try {
    RunConfig copy = config;
    const TemporaryFile file;
    file.write(write_toml(copy));
    code = run_this_program({"plan", "--quiet", "--fresh", file.path()});
    if (code == 0) return true;
    problem = fmt::format("`twill plan` ended with exit code {}", code);
  } catch (const Error& error) {
    problem = error.what();
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    require(code != 128 + number, "interrupted while the plan was measured");
  log_warning(problem +
              "; measuring it in this process, which leaves the GPU at lower clocks until it ends");
  return false;
}

}  // namespace twill::cli
