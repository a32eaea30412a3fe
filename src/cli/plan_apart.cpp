// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_apart.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/cache_folder.h"
#include "base/log.h"
#include "base/require.h"
#include "cli/own_program.h"
#include "io/atomic_file.h"
#include "io/toml_config.h"

namespace twill::cli {
namespace {

// In the folder of what is kept: without one nobody is asked to measure apart.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_((cache_folder() / "plan-XXXXXX").string()) {
    create_directories(cache_folder().string());
    const int file = ::mkstemp(path_.data());
    require(file >= 0, "cannot create {}: {}", path_, std::strerror(errno));
    const Closer closer{file};
    write_all(file, content.data(), content.size(), path_);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  };
  std::string path_;
};

}  // namespace

bool measure_plan_apart(const RunConfig& config) {
  int code = 0;
  std::string problem;
  try {
    RunConfig copy = config;
    const TemporaryFile file(write_toml(copy));
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
