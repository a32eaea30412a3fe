// SPDX-License-Identifier: Apache-2.0
#include "runner/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "runner/events.h"

namespace twill::runner {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A process whose output goes to a file without a name.
class Child {
 public:
  // Holds the end of a pipe, whose closing says that it has ended. `has_events`: it is told the number of
  // that end as --worker=N.
  Child(std::vector<std::string> command, bool has_events) {
    char path[] = "/tmp/twill_tests.XXXXXX";
    output_ = ::mkostemp(path, O_CLOEXEC | O_APPEND);
    if (output_ < 0) throw std::runtime_error("no file for a worker's output in /tmp");
    ::unlink(path);
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe to a worker");
    if (has_events) command.push_back(fmt::format("--worker={}", ends[1]));
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process for a worker");
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a runner that is killed leaves no worker behind
      if (::getppid() != parent) ::_exit(127);
      ::setpgid(0, 0);  // so that all of a test ends with it
      ::fcntl(ends[1], F_SETFD, 0);
      const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      ::dup2(nothing, STDIN_FILENO);
      ::dup2(output_, STDOUT_FILENO);
      ::dup2(output_, STDERR_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    events_ = ends[0];
  }
  ~Child() {
    ::close(events_);
    ::close(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int events() const { return events_; }
  void kill() const { ::kill(-process_, SIGKILL); }

  // What has come since; false at the end.
  bool read(std::string& text) const {
    char piece[65536];
    const ssize_t count = ::read(events_, piece, sizeof piece);
    if (count > 0) text.append(piece, static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }
  // Waits for its end. "": it ended well.
  std::string end(double& cpu_seconds) const {
    int status = 0;
    rusage usage{};
    while (::wait4(process_, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    ::kill(-process_, SIGKILL);  // what a crashed test left behind
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      cpu_seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    if (WIFSIGNALED(status))
      return fmt::format("ended by signal {} ({})", WTERMSIG(status),
                         ::strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status) == 0 ? ""
                                    : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }
  std::string printed() const {
    std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(output_, 0, SEEK_END), 0)),
                     0);
    const ssize_t count = ::pread(output_, text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return text;
  }

 private:
  int output_ = -1;
  int events_ = -1;
  pid_t process_ = -1;
};

// A process at work, and what it was asked for and has not done.
struct Work {
  std::unique_ptr<Child> child;
  std::vector<std::string> left;
  std::string script = {};   // its name, where it is one
  std::string running = {};  // the test that has begun
  std::string first = {}, last = {};
  std::string unread = {};
  Clock::time_point since = Clock::now();
  bool timed_out = false;
  bool has_failed = false;
};

class Progress {
 public:
  explicit Progress(std::size_t total) : total_(total) {}

  void add(const Result& result) {
    ++done_;
    clear();
    if (result.status == Status::kFailed)
      fmt::print("--- {} failed\n{}{}", result.name, result.text,
                 result.text.ends_with('\n') || result.text.empty() ? "" : "\n");
    if (is_terminal_) {
      fmt::print("[{}/{}] {}", done_, total_, result.name.substr(0, 60));
    } else if (done_ * 10 / total_ > tenths_) {
      tenths_ = done_ * 10 / total_;
      fmt::print("[{}/{}] {:.0f} s\n", done_, total_, seconds_since(start_));
    }
    std::fflush(stdout);
  }
  void clear() const {
    if (is_terminal_) fmt::print("\r\033[K");
  }

 private:
  std::size_t total_, done_ = 0, tenths_ = 0;
  bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  Clock::time_point start_ = Clock::now();
};

class Run {
 public:
  Run(std::vector<std::string> tests, const std::vector<Script>& scripts, const Options& options)
      : options_(options),
        scripts_(scripts.begin(), scripts.end()),
        progress_(tests.size() + scripts.size()) {
    for (std::size_t begin = 0; begin < tests.size(); begin += options.chunk) {
      const std::size_t end = std::min(begin + options.chunk, tests.size());
      chunks_.emplace_back(tests.begin() + static_cast<std::ptrdiff_t>(begin),
                           tests.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }

  std::vector<Result> finish() {
    while (true) {
      while (std::ssize(at_work_) < options_.jobs && start_one()) {
      }
      if (at_work_.empty()) break;
      wait_and_read();
    }
    progress_.clear();
    return std::move(results_);
  }

 private:
  bool start_one() {
    if (!scripts_.empty()) {
      const Script script = scripts_.front();
      scripts_.pop_front();
      at_work_.push_back({.child = std::make_unique<Child>(script.command, false),
                          .left = {},
                          .script = script.name});
      return true;
    }
    if (chunks_.empty()) return false;
    const std::vector<std::string> chunk = chunks_.front();
    chunks_.pop_front();
    std::string filter = "--gtest_filter=";
    for (const std::string& name : chunk) filter += name + ":";
    std::vector<std::string> command{"/proc/self/exe", filter, "--gtest_color=no"};
    command.insert(command.end(), options_.worker_flags.begin(), options_.worker_flags.end());
    at_work_.push_back({.child = std::make_unique<Child>(command, true), .left = chunk});
    return true;
  }

  void wait_and_read() {
    std::vector<pollfd> places;
    for (const Work& work : at_work_)
      places.push_back({.fd = work.child->events(), .events = POLLIN, .revents = 0});
    ::poll(places.data(), places.size(), 1000);
    for (std::size_t i = places.size(); i-- > 0;) {
      Work& work = at_work_[i];
      if (!work.timed_out && seconds_since(work.since) > options_.timeout) {
        work.timed_out = true;
        work.child->kill();
      }
      if (places[i].revents == 0 || work.child->read(work.unread)) {
        take_events(work);
        continue;
      }
      take_events(work);
      Work ended = std::move(work);
      at_work_.erase(at_work_.begin() + static_cast<std::ptrdiff_t>(i));
      close(ended);
    }
  }

  void take_events(Work& work) {
    while (std::optional<Event> event = take_event(work.unread)) {
      const std::string& name = event->result.name;
      work.since = Clock::now();
      if (!event->is_end) {
        work.running = name;
        continue;
      }
      if (work.first.empty()) work.first = name;
      work.last = name;
      work.running.clear();
      std::erase(work.left, name);
      work.has_failed = work.has_failed || event->result.status == Status::kFailed;
      add(event->result);
    }
  }

  // The pipe is closed: the process has ended, or is about to.
  void close(const Work& work) {
    double cpu = 0.0;
    std::string fault = work.child->end(cpu);
    if (work.timed_out) fault = fmt::format("was stopped after {:.0f} s", options_.timeout);
    const double seconds = seconds_since(work.since);
    const auto failed = [&](const std::string& name) {
      add({.name = name,
           .status = Status::kFailed,
           .seconds = seconds,
           .cpu_seconds = cpu,
           .text = work.child->printed() + name + " " + fault + "\n"});
    };
    if (!work.script.empty()) {
      if (fault.empty())
        add({.name = work.script, .seconds = seconds, .cpu_seconds = cpu});
      else
        failed(work.script);
      return;
    }
    std::vector<std::string> left = work.left;
    if (!left.empty()) {  // the one that was running, or the first that could not even start
      const std::string name = work.running.empty() ? left.front() : work.running;
      if (fault.empty()) fault = "ended the process";
      failed(name);
      std::erase(left, name);
      if (!left.empty()) chunks_.push_front(left);
    } else if (!fault.empty() && !work.has_failed) {
      // Leaks are told when a process ends.
      fault += " behind its last test, " + work.last;
      failed("(process that began with " + work.first + ")");
    }
  }

  void add(const Result& result) {
    progress_.add(result);
    results_.push_back(result);
  }

  Options options_;
  std::deque<Script> scripts_;
  std::deque<std::vector<std::string>> chunks_;
  std::vector<Work> at_work_;
  std::vector<Result> results_;
  Progress progress_;
};

}  // namespace

std::vector<Result> run_all(std::vector<std::string> tests, const std::vector<Script>& scripts,
                            const Options& options) {
  return Run(std::move(tests), scripts, options).finish();
}

}  // namespace twill::runner
