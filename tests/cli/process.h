// SPDX-License-Identifier: Apache-2.0
// The twill binary as a person starts it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace twill {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal when killed
  std::string out;
  std::string err;
};

struct ProcessOptions {
  std::string folder = {};                    // where it runs
  std::string binary = {};                    // instead of the build's own
  std::string out_file = {};                  // standard output, instead of a file in the folder
  std::int64_t max_file_bytes = -1;           // a disk that is full beyond this size (ulimit -f)
  std::int64_t max_memory_bytes = -1;         // of the address space (ulimit -v)
  bool closed = false;                        // descriptors 0 to 2
  std::vector<std::string> environment = {};  // NAME=VALUE
  bool unprivileged = false;  // as root: gives up root first, so that permissions count
};

// A running twill. Its output goes to files in `folder`.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const ProcessOptions& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const;
  std::string proc_folder() const { return "/proc/" + std::to_string(pid_); }
  bool running();
  ProcessResult wait();
  // Kills it where it does not end by itself; the exit code then is 137.
  ProcessResult wait_at_most(int seconds);

 private:
  std::string out_file_, err_file_;
  pid_t pid_ = -1;
  int status_ = -1;
  bool ended_ = false;
};

// What it wrote has this part.
void expect_contains(const std::string& text, const std::string& part);

ProcessResult run_twill(const std::vector<std::string>& arguments, const ProcessOptions& options);

}  // namespace twill
