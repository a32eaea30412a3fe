// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/own_program.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/require.h"
#include "cli/screen/text_format.h"
#include "train/run/run_folder.h"

namespace twill::cli {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

// As exec takes it, program name and end included.
class ArgumentList {
 public:
  explicit ArgumentList(const std::vector<std::string>& arguments) : words_{"twill"} {
    words_.insert(words_.end(), arguments.begin(), arguments.end());
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  char** data() { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

// A run that saves on Ctrl-C has blocked the signals that must end a child.
class NoSignalsBlocked {
 public:
  NoSignalsBlocked() {
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~NoSignalsBlocked() { ::posix_spawnattr_destroy(&attributes_); }
  NoSignalsBlocked(const NoSignalsBlocked&) = delete;
  NoSignalsBlocked& operator=(const NoSignalsBlocked&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace

int run_this_program(const std::vector<std::string>& arguments) {
  std::fflush(stdout);
  ArgumentList list(arguments);
  const NoSignalsBlocked attributes;
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, kThisProgram, nullptr, attributes.get(), list.data(), environ);
  require(error == 0, "cannot start {} again: {}", kThisProgram, std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    require(errno == EINTR, "cannot wait for process {}: {}", child, std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void become_this_program(const std::vector<std::string>& arguments) {
  std::fflush(stdout);
  ArgumentList list(arguments);
  ::execv(kThisProgram, list.data());
  const int error = errno;
  std::string text = command_name();
  for (const std::string& word : arguments) text += " " + shell_quoted(word);
  fail("cannot start {} again: {}; go on with `{}`", kThisProgram, std::strerror(error), text);
}

}  // namespace twill::cli
