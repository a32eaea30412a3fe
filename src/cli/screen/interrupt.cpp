// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/interrupt.h"

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "cli/commands.h"

namespace twill::cli {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  return set;
}

[[noreturn]] void end_at_once(int number) {
  const sigset_t set = stop_signals();
  ::signal(number, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(number);
  std::_Exit(128 + number);
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // A reader that went away (`train | head`) must not end a run: writes fail, and are not needed.
  ::signal(SIGPIPE, SIG_IGN);
  watcher_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
  ended_ = true;
  watcher_.join();
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::watch() {
  const sigset_t set = stop_signals();
  const timespec tenth{.tv_sec = 0, .tv_nsec = 100'000'000};
  while (!ended_) {
    const int number = ::sigtimedwait(&set, nullptr, &tenth);
    if (number <= 0) continue;
    if (!saves_) {
      std::fputs("\nstopped before the first step: there was nothing to save\n", stderr);
      std::_Exit(kInterrupted);
    }
    if (requested_.exchange(true)) end_at_once(number);
    std::fputs("\nstopping and saving; a second signal ends at once\n", stderr);
  }
}

}  // namespace twill::cli
