// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <csignal>

namespace twill::cli {
namespace {

// A signal handler can reach nothing but static storage.
std::atomic<bool> g_requested{false};

void handle(int signal) {
  g_requested = true;
  std::signal(signal, SIG_DFL);  // the second one is not ours
}

}  // namespace

Interrupt::Interrupt() {
  g_requested = false;
  std::signal(SIGINT, handle);
  std::signal(SIGTERM, handle);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

const std::atomic<bool>& Interrupt::requested() const { return g_requested; }

}  // namespace twill::cli
