// SPDX-License-Identifier: Apache-2.0
#include "cli/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "io/temp_dir.h"

namespace twill {
namespace {

constexpr uid_t kNobody = 65534;

[[noreturn]] void become_twill(const std::vector<std::string>& arguments,
                               const ProcessOptions& options, const std::string& out,
                               const std::string& err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // with a test that is killed
  const int out_fd = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  const int err_fd = ::open(err.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  ::dup2(out_fd, STDOUT_FILENO);
  ::dup2(err_fd, STDERR_FILENO);
  if (::chdir(options.folder.c_str()) != 0) ::_exit(97);
  if (options.max_file_bytes >= 0) {
    const auto limit = static_cast<rlim_t>(options.max_file_bytes);
    const rlimit limits{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &limits);
  }
  // Opened while we may: the folders above the binary may be closed to the unprivileged user.
  const int binary =
      ::open(options.binary.empty() ? TWILL_BINARY : options.binary.c_str(), O_RDONLY | O_CLOEXEC);
  if (options.unprivileged && ::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(98);
  if (options.max_memory_bytes >= 0) {
    const auto limit = static_cast<rlim_t>(options.max_memory_bytes);
    const rlimit limits{limit, limit};
    ::setrlimit(RLIMIT_AS, &limits);
  }
  for (const std::string& pair : options.environment) ::putenv(const_cast<char*>(pair.c_str()));
  ::setenv("TWILL_CACHE", (options.folder + "/.cache").c_str(), /*overwrite=*/1);
  std::vector<char*> argv{const_cast<char*>("twill")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  if (options.closed) ::close_range(STDIN_FILENO, STDERR_FILENO, 0);
  ::fexecve(binary, argv.data(), environ);
  ::_exit(99);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  static std::atomic<int> number{0};
  const std::string base = options.folder + "/.process-" + std::to_string(number++);
  out_file_ = options.out_file.empty() ? base + ".out" : options.out_file;
  err_file_ = base + ".err";
  pid_ = ::fork();
  if (pid_ == 0) become_twill(arguments, options, out_file_, err_file_);
  EXPECT_GT(pid_, 0);
}

Process::~Process() {
  if (ended_) return;
  signal(SIGKILL);
  wait();
}

void Process::signal(int number) const { ::kill(pid_, number); }

bool Process::running() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return !ended_;
}

ProcessResult Process::wait() {
  if (!ended_) ::waitpid(pid_, &status_, 0);
  ended_ = true;
  const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  // A device (/dev/full) has no end to read to.
  const bool readable = std::filesystem::is_regular_file(out_file_);
  return {.exit_code = code,
          .out = readable ? content_of(out_file_) : "",
          .err = content_of(err_file_)};
}

ProcessResult Process::wait_at_most(int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (running() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (running()) signal(SIGKILL);
  return wait();
}

ProcessResult run_twill(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  return Process(arguments, options).wait();
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "expected: " << part << "\ngot: " << text;
}

}  // namespace twill
