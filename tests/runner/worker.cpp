// SPDX-License-Identifier: Apache-2.0
#include "runner/worker.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <iostream>

#include <gtest/gtest.h>

#include "runner/events.h"

namespace twill::runner {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Of this process and of the children that have ended.
double cpu_seconds() {
  double seconds = 0.0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    seconds += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  return seconds;
}

class Teller : public testing::EmptyTestEventListener {
 public:
  explicit Teller(int events) : events_(events) {}

  void OnTestStart(const testing::TestInfo& test) override {
    flush();
    static_cast<void>(::ftruncate(STDOUT_FILENO, 0) == 0);  // what passed is of no interest
    tell(start_event(name_of(test)));
    skip_reason_.clear();
    cpu_ = cpu_seconds();
    start_ = Clock::now();
  }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.skipped() || part.message() == nullptr) return;
    skip_reason_ = part.message();
    // Behind it stand the traces, with a seed that differs from test to test.
    skip_reason_.resize(std::min(skip_reason_.size(), skip_reason_.find("\nGoogle Test trace:")));
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    Result result{.name = name_of(test),
                  .seconds = std::chrono::duration<double>(Clock::now() - start_).count(),
                  .cpu_seconds = cpu_seconds() - cpu_};
    if (test.result()->Failed()) {
      flush();
      result.status = Status::kFailed;
      result.text = printed();
    } else if (test.result()->Skipped()) {
      result.status = Status::kSkipped;
      result.text = skip_reason_;
    }
    tell(end_event(result));
  }

 private:
  using Clock = std::chrono::steady_clock;

  static std::string name_of(const testing::TestInfo& test) {
    return std::string(test.test_suite_name()) + "." + test.name();
  }
  static void flush() {
    std::cout.flush();
    std::fflush(nullptr);
  }
  static std::string printed() {
    std::string text;
    char piece[4096];
    while (true) {
      const ssize_t count =
          ::pread(STDOUT_FILENO, piece, sizeof piece, static_cast<off_t>(text.size()));
      if (count <= 0) return text;
      text.append(piece, static_cast<std::size_t>(count));
    }
  }
  void tell(const std::string& event) const {
    for (std::size_t sent = 0; sent < event.size();) {
      const ssize_t count = ::write(events_, event.data() + sent, event.size() - sent);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) ::_exit(3);  // nobody listens any more
      sent += static_cast<std::size_t>(count);
    }
  }

  int events_;
  std::string skip_reason_;
  Clock::time_point start_;
  double cpu_ = 0.0;
};

}  // namespace

int run_worker(int events) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // the last words of a crash
  // Programs that tests start would hold it open behind our end.
  ::fcntl(events, F_SETFD, FD_CLOEXEC);
  // Behind the printer: it has written when we are told of an end.
  testing::UnitTest::GetInstance()->listeners().Append(new Teller(events));
  return RUN_ALL_TESTS();
}

}  // namespace twill::runner
