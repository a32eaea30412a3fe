// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_apart.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "base/log.h"
#include "base/require.h"
#include "cli/own_program.h"
#include "io/atomic_file.h"
#include "io/toml_config.h"

namespace twill::cli {
namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_((std::filesystem::temp_directory_path() / "twill-plan-XXXXXX").string()) {
    const int file = ::mkstemp(path_.data());
    require(file >= 0, "cannot create {}: {}", path_, std::strerror(errno));
    ::close(file);
    write_file(path_, content);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

void measure_plan_apart(const RunConfig& config) {
  constexpr const char* kHere =
      "measuring the plan in this process, which leaves a GPU at lower clocks until it ends";
  try {
    RunConfig copy = config;
    const TemporaryFile file(write_toml(copy));
    const int code = run_this_program({"plan", "--quiet", "--fresh", file.path()});
    if (code != 0)
      log_warning(fmt::format("`twill plan` ended with exit code {}; {}", code, kHere));
  } catch (const Error& problem) {
    log_warning(fmt::format("{}; {}", problem.what(), kHere));
  }
}

}  // namespace twill::cli
