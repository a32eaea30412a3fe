// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and a closed terminal ask for a clean stop; a second one ends the process at
// once. As long as there is nothing to save (a corpus is read, a plan is measured) the first does.
#pragma once

#include <atomic>
#include <thread>

namespace twill::cli {

// No signal handler runs: oneDNN's products use heap memory as their stack, and a handler that
// starts on it would write its frame over the heap. The signals are blocked in every thread, and
// one thread of ours waits for them. So make this before any other thread starts.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  const std::atomic<bool>& requested() const { return requested_; }
  // From here on there is a run to save.
  void begin_saving() { saves_ = true; }

 private:
  void watch();

  std::atomic<bool> requested_{false};
  std::atomic<bool> saves_{false};
  std::atomic<bool> ended_{false};
  std::thread watcher_;
};

}  // namespace twill::cli
